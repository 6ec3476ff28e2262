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

    def __init__(
        self, tag: str, attributes: dict[str, str], parents: tuple[Tag, ...], page_texts: list[str]
    ) -> None:
        super().__init__(attributes)
        self.tag = tag
        self.parents = parents
        #: The texts of the page so far, and which of them begin the element's own and follow it.
        self._page_texts = page_texts
        self._start, self._end = len(page_texts), -1

    def end(self) -> None:
        self._end = len(self._page_texts)

    @property
    def text(self) -> str:
        return "".join(self._page_texts[self._start : self._end])

    def inside(self, **attributes: str) -> bool:
        return any(_fits(parent, attributes) for parent in self.parents)


class ParsedPage(HTMLParser):
    """The elements of a page, in order. ``crossed`` are ends that fit no beginning."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[Tag] = []
        self.crossed: list[str] = []
        self._texts: list[str] = []
        self._open: list[Tag] = []
        self.feed(html)
        self.close()
        self.unclosed = [tag.tag for tag in self._open]
        for tag in self._open:
            tag.end()
        self.text = "".join(self._texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in attrs}
        element = Tag(tag, attributes, tuple(self._open), self._texts)
        self.tags.append(element)
        if tag in VOID:
            element.end()
        else:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].tag == tag:
            self._open.pop().end()
        else:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def __iter__(self) -> Iterator[Tag]:
        return iter(self.tags)

    def find_all(self, **attributes: str) -> list[Tag]:
        return [tag for tag in self.tags if _fits(tag, attributes)]

    def find_one(self, **attributes: str) -> Tag:
        tags = self.find_all(**attributes)
        assert len(tags) == 1, f"{attributes}: {len(tags)} of {len(self.tags)}"
        return tags[0]


def _fits(tag: Tag, attributes: dict[str, str]) -> bool:
    return all(tag.get(key) == value for key, value in attributes.items())


def parse_page(html: Any) -> ParsedPage:
    """Parse a response or a text."""
    return ParsedPage(html if isinstance(html, str) else html.content.decode())
