"""Caches the HTML of items and of rows of lists: most were on a page of this process before.

The key of HTML is all that it depends on: what is on record, how long ago that was, and what the
person may do. So what changed, was masked or was redacted is rendered again. Keys are compared, not
digested: writing them down for a digest took 3 ms of a conversation's 19.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from jpweb.stream.transcript.items import OrphanInquiry, StandaloneItem, ToolCall
from jpweb.web import display_text

if TYPE_CHECKING:
    from datetime import datetime

    from django.utils.safestring import SafeString

    from jpweb.store.models import Conversation, Inquiry
    from jpweb.store.transcript.call_decisions import CallDecision
    from jpweb.stream.events import Element
    from jpweb.stream.transcript.items import InquiryPair, Item

#: Characters of HTML in the cache of a process: the items and rows of some 200 pages. Keys, which
#: hold texts of about the same length, come on top.
MAX_CACHE_CHARS = 20_000_000
#: Characters of the longest HTML that is cached.
MAX_ENTRY_CHARS = 100_000
#: Characters of the longest text that is in a key; of longer ones the digest is.
_MAX_KEY_TEXT_CHARS = 2_000
#: Types of a JSON field that cannot be hashed, or whose values equal other ones: True is 1.
_REPR_TYPES = frozenset({dict, list, bool, float})

_html_cache: LRUCache[Hashable, SafeString] = LRUCache(MAX_CACHE_CHARS, getsizeof=len)
_html_cache_lock = Lock()


class ItemRecord(NamedTuple):
    """Inputs of an item's HTML beside its elements: question keys, decisions of its call.

    ``at_anchor`` is the event that the page's address names.
    """

    conversation_id: int
    question_ids: dict[str, int]
    decisions: Sequence[CallDecision]
    at_anchor: str = ""


def get_or_render_html(key: Hashable, render: Callable[[], SafeString]) -> SafeString:
    """Return the cached HTML with this key; render and cache it where there is none."""
    with _html_cache_lock:
        html = _html_cache.get(key)
    if html is None:
        html = render()
        if len(html) <= MAX_ENTRY_CHARS:
            with _html_cache_lock:
                _html_cache[key] = html
    return html


def list_fields(row: Conversation | Inquiry) -> tuple[Hashable, ...]:
    """Return the loaded fields and annotations of a row, as inputs of a key."""
    values = vars(row).copy()
    del values["_state"]
    for name in [name for name, value in values.items() if type(value) in _REPR_TYPES]:
        values[name] = _digest_long(repr(values[name]))
    return *values, *values.values()


def make_hashable(value: object) -> Hashable:
    """Return a value as a part of a key: with its type, since True is 1 and safe text is text.

    A long text, such as the query of an address, is digested: keys are not counted in the cache.
    """
    if isinstance(value, dict | list | set):
        value = repr(value)
    return type(value), _digest_long(value) if isinstance(value, str) else value


def make_item_key(
    item: Item,
    record: ItemRecord,
    oob: bool,
    open_folds: frozenset[str],
    closed_folds: frozenset[str],
) -> Hashable:
    """Return all that the HTML of an item depends on."""
    elements = item.elements
    anchors = {placed_element.anchor for placed_element in elements}
    return (
        record.conversation_id,
        oob,
        record.at_anchor if record.at_anchor in anchors else "",
        open_folds & anchors,
        closed_folds & anchors,
        tuple(record.question_ids.get(placed_element.anchor) for placed_element in elements),
        tuple((repr(decision), _format_age(decision.settled_at)) for decision in record.decisions),
        make_content_key(item),
    )


def make_content_key(item: Item) -> Hashable:
    """Return the anchors and texts of an item's elements, and how they belong together."""
    elements = item.elements
    return (
        tuple(
            (placed_element.place, placed_element.anchor, placed_element.legacy_tag)
            for placed_element in elements
        ),
        tuple(_make_text_key(placed_element.element) for placed_element in elements),
        *_describe_structure(item),
    )


def _make_text_key(element: Element) -> Hashable:
    """Return the identity of an element: its text, unless its body was shortened."""
    if element.is_shortened:
        return (_digest_long(repr(element)),)
    return _digest_long(element.raw)


def _digest_long(text: str) -> str | bytes:
    if len(text) <= _MAX_KEY_TEXT_CHARS:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()


def _describe_structure(item: Item) -> tuple[Hashable, ...]:
    """Return which elements of an item belong together, and the states of its inquiries."""
    match item:
        case ToolCall(response=response, inquiries=inquiries):
            return "call", bool(response), *map(_describe_inquiry, inquiries)
        case OrphanInquiry(inquiry=inquiry):
            return "inquiry", _describe_inquiry(inquiry)
        case StandaloneItem(orphan=orphan):
            return "element", orphan


def _describe_inquiry(inquiry: InquiryPair) -> tuple[bool, str, str]:
    return bool(inquiry.response), inquiry.state, _format_age(inquiry.settled_at)


def _format_age(settled_at: datetime | None) -> str:
    return display_text.format_age(settled_at) if settled_at else ""
