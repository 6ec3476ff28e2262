"""Every hostile document, in every way in which it is shown: inert, whole, and of bounded size."""

from __future__ import annotations

import time

import pytest

from jpweb.runtime.rendering import payloads
from tests import hostile
from tests.machine.sizes import choose_size
from tests.web.reading import parse_page

DOCUMENTS = hostile.list_documents()
TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("input", "li", "ol", "p", "pre", "section", "strong", "sup", "table", "tbody", "td", "th"),
    *("thead", "tr", "ul", "div", "span", "dl", "dt", "dd"),
}
ATTRIBUTES = {"align", "checked", "class", "disabled", "href", "rel", "start", "tabindex", "title"}
ATTRIBUTES |= {"type"}
CLASSES = {
    *("prose", "text", "code", "fields", "long", "added", "removed", "hunk", "file"),
    *("k", "s", "n", "c", "f", "t", "v"),
    *("bold", "dim", "italic", "underline", "strike", "reverse"),
    *(f"fg-{n}" for n in range(16)),
    *(f"bg-{n}" for n in range(16)),
}
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x00\x1b")
#: Generous: the slowest takes a third of a second, and what a guard lets through takes minutes.
SECONDS = 20
#: Characters that one request sends of a payload, at the very most.
LARGEST = 1_000_000
#: Removing the inner sequence leaves an introducer of another; quadratic, 4 times the text takes
#: 16 times as long.
NESTED_CODES = ("\x1b\x1b\x1b[KX]", "\x1b\x1b\x1b]\\]", "\x1b\x1b[K]", "\x1b\x1bX]", "\x1b]")
PROBE_CHARS = 12_000


def list_payloads(document: hostile.Document) -> list[payloads.Payload]:
    elements = hostile.stream(*hostile.make_elements(document))
    return [payload for element in elements for payload in payloads.get_payloads(element).values()]


def test_hostile_documents_are_at_least_twenty():
    assert len(DOCUMENTS) >= 20


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_hostile_document_is_inert_and_its_size_bounded(document: hostile.Document):
    start = time.thread_time()  # of the processor: other processes do not count
    for payload in list_payloads(document):
        for chunk in (payload.render_excerpt(), payload.render_part(1)):
            assert chunk is not None
            assert len(chunk.html) < 10 * min(len(payload.text), payloads.PART_CHARS) + 4_000
            assert len(chunk.html) < LARGEST
            assert not TURNING & set(chunk.html)
            page = parse_page(chunk.html)
            assert (page.crossed, page.unclosed) == ([], [])
            assert {tag.tag for tag in page} <= TAGS
            assert {name for tag in page for name in tag} <= ATTRIBUTES
            assert {tag["type"] for tag in page if "type" in tag} <= {"checkbox"}
            class_names = {
                class_name for tag in page for class_name in tag.get("class", "").split()
            }
            assert {
                class_name for class_name in class_names if not class_name.startswith("language-")
            } <= CLASSES
            for tag in page:
                scheme = tag.get("href", "https:").partition(":")[0]
                assert scheme in ("http", "https", "mailto") or tag["href"][0] == "#"
        assert len(payload.render_excerpt().html) < 10 * payloads.MAX_PROSE_CHARS + 4_000
    assert time.thread_time() - start < SECONDS


@pytest.mark.parametrize("unit", NESTED_CODES, ids=ascii)
def test_terminal_codes_within_others_take_time_in_proportion(unit: str):
    unit_count = PROBE_CHARS // len(unit)
    assert measure_terminal(4 * unit_count * unit) < 10 * measure_terminal(unit_count * unit)


def measure_terminal(text: str) -> float:
    """Return the least of three processor times of a result whose output has this text."""
    seconds = []
    for _ in range(3):
        start = time.thread_time()
        assert payloads.make_result_payload("\x1b[K" + text).render_part(1)
        seconds.append(time.thread_time() - start)
    return min(seconds)


@pytest.mark.parametrize(
    "document", DOCUMENTS[:: choose_size(3, 1)], ids=lambda document: document.name
)
def test_a_hostile_document_is_cut_into_parts_that_end(document: hostile.Document):
    for payload in list_payloads(document):
        number = 1
        while (chunk := payload.render_part(number)) is not None and chunk.has_more:
            number += 1
        assert chunk is not None
        assert payload.render_part(number + 1) is None
