"""The pages of recorded data, as the text that a person reads."""

from __future__ import annotations

import html
import re
from pathlib import Path

from tests.installing.crawling import normalize_page
from tests.installing.owner import Owner
from tests.machine.ports import wait_until

_MAIN = re.compile(r"<main[^>]*>(.*)</main>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
#: Between two pages of a file.
_HEADING = "=== "
#: What is derived from one conversation, and read without its page.
_VIEWS = ("", "/compacted", "/thread", "/outline", "/facts", "/export/jp", "/export/markdown")


def list_paths(owner: Owner) -> list[str]:
    """Return the paths of all pages of the recorded workspace, and of what is in it."""
    lists = ["/conversations?workspace=2", "/audit?demo=1", "/audit.csv?demo=1"]
    lists += [
        "/questions",
        "/workspaces/2/people",
        "/workspaces/2/tools",
        "/search?q=backup+in:orchard",
    ]
    html = owner.read("/conversations?workspace=2") + owner.read(
        "/conversations?workspace=2&archived=1"
    )
    conversations = sorted(set(re.findall(r'href="/conversations/(\d+)', html)), key=int)
    views = [f"/conversations/{key}{view}" for key in conversations for view in _VIEWS]
    question_keys = [
        key
        for conversation in conversations
        for key in re.findall(r"/questions/(\d+)", owner.read(_page(conversation)))
    ]
    return [*lists, *views, *(f"/questions/{key}" for key in sorted(set(question_keys), key=int))]


def read_pages(owner: Owner, paths: list[str] | None = None) -> dict[str, str]:
    """Return the text of pages by their paths, once the open turn waits and all is indexed."""
    owner.visitor.wait_until_indexed()
    wait_until(lambda: 'data-answer-type="select"' in owner.read("/questions"), "the turn waits")
    return {path: read_text(owner, path) for path in paths or list_paths(owner)}


def read_text(owner: Owner, path: str) -> str:
    """Return what a person reads on a page, or a file as it is."""
    text = normalize_page(owner.read(path))
    main = _MAIN.search(text)
    if main is None:
        return text.strip()
    # PostgreSQL keeps the labels in an order of its own.
    main_html = re.sub(r'.*class="tag".*', "", main[1])
    lines = (" ".join(line.split()) for line in _TAG.sub("\n", main_html).splitlines())
    return html.unescape("\n".join(line for line in lines if line))


def write_pages(file: Path, pages: dict[str, str]) -> None:
    """Write pages into one file."""
    file.write_text("".join(f"{_HEADING}{path}\n{text}\n" for path, text in pages.items()))


def load_pages(file: Path) -> dict[str, str]:
    """Return the pages that a file holds."""
    parts = re.split(rf"^{_HEADING}", file.read_text(), flags=re.MULTILINE)[1:]
    split = (part.partition("\n") for part in parts)
    return {path: text.removesuffix("\n") for path, _, text in split}


def _page(conversation: str) -> str:
    return f"/conversations/{conversation}"
