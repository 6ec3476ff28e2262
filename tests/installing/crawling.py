"""Every page that links lead to, as text in which two installations can be compared."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Mapping

from tests.machine.visiting import Visitor

_LINK = re.compile(r'href="(/[^"#?]*)')
#: Pages of single events are as many as there are events, static files are no pages, the ledger
#: grows by being read, the sample of reviews is another one each week, an evidence bundle is a zip
#: that names the installation, and personal data name sign-ins and the time.
_SKIPPED = re.compile(
    r"/static/|/events/|/audit/ledger|/audit/reviews|/account/readers|/account/data|evidence\.zip"
)
#: What two requests for the same page differ in.
_VARIABLE = (
    (re.compile(r'(csrf-token" content|csrfmiddlewaretoken" value)="\w+"'), r"\1"),
    # How long ago it was; the instant itself stays.
    (re.compile(r"(<time [^>]*>)[^<]*"), r"\1"),
    (re.compile(r' data-waiting-seconds="\d+"'), ""),
    # When an export was made.
    (re.compile(r"(Exported by jpweb, )[^,]+ UTC"), r"\1"),
    # The quick ranges name this month and the last.
    (re.compile(r'<p class="quick-ranges">.*?</p>', re.DOTALL), ""),
    # What a table counts, for its paper: as of now.
    (re.compile(r'<p class="print-only">.*?</p>', re.DOTALL), ""),
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "http://here"),
)


def crawl_pages(visitor: Visitor) -> dict[str, str]:
    """Follow all links from the start page; return the text of each page by its path."""
    texts: dict[str, str] = {}
    pending_paths = deque(["/"])
    while pending_paths:
        path = pending_paths.popleft()
        if path in texts:
            continue
        reply = visitor.get(path)
        assert reply.status == 200, (path, reply.status)
        texts[path] = normalize_page(reply.text)
        if "<html" in reply.text and "/export/" not in path:
            links = _LINK.findall(reply.text)
            pending_paths.extend(link for link in links if not _SKIPPED.search(link))
    return texts


def normalize_page(text: str) -> str:
    """Return a page without what differs with each request."""
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return text


def diff_pages(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return what differs between two crawls, a line each with its path."""
    differences: list[str] = []
    for path in sorted({*before, *after}):
        old, new = (pages.get(path, "no such page").splitlines() for pages in (before, after))
        diff_lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
        differences += [f"{path}: {line}" for line in diff_lines if not line.startswith("@@")]
    return differences
