"""A page as a reader's machine takes it: parsed, not searched."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"} | {
    "track",
    "wbr",
}


class Tag(dict[str, str]):
    """An element: its attributes, its name, and the text inside it."""

    def __init__(self, tag: str, attributes: dict[str, str], parents: list[Tag]) -> None:
        super().__init__(attributes)
        self.tag = tag
        self.parents = parents
        self.text = ""

    def inside(self, **wanted: str) -> bool:
        return any(_fits(parent, wanted) for parent in self.parents)


class Page(HTMLParser):
    """The elements of a page, in order. ``crossed`` are ends that fit no beginning."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self.text = ""
        self.crossed: list[str] = []
        self._open: list[Tag] = []
        self.feed(html)
        self.close()

    @property
    def unclosed(self) -> list[str]:
        return [tag.tag for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Tag(tag, {key: value or "" for key, value in attrs}, list(self._open))
        self.tags.append(made)
        if tag not in VOID:
            self._open.append(made)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].tag == tag:
            self._open.pop()
        else:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        for tag in self._open:
            tag.text += data

    def __iter__(self) -> Iterator[Tag]:
        return iter(self.tags)

    def all(self, **wanted: str) -> list[Tag]:
        return [tag for tag in self.tags if _fits(tag, wanted)]

    def one(self, **wanted: str) -> Tag:
        found = self.all(**wanted)
        assert len(found) == 1, f"{wanted}: {len(found)} of {len(self.tags)}"
        return found[0]


def _fits(tag: Tag, wanted: dict[str, str]) -> bool:
    return all(tag.get(key) == value for key, value in wanted.items())


def read(html: Any) -> Page:
    """Parse a response or a text."""
    return Page(html if isinstance(html, str) else html.content.decode())
