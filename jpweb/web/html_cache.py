"""Caches the HTML of items and of rows of lists: most were on a page of this process before.

The key of HTML is the digest of all that it depends on: what is on record, how long ago that was,
and what the person may do. So what changed, was masked or was redacted is rendered again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from cachetools import LRUCache

from jpweb.stream.transcript.items import OrphanInquiry, StandaloneItem, ToolCall
from jpweb.web import display_text

if TYPE_CHECKING:
    from datetime import datetime

    from django.utils.safestring import SafeString

    from jpweb.store.models import Conversation, Inquiry
    from jpweb.store.transcript.call_decisions import CallDecision
    from jpweb.stream.transcript.items import InquiryPair, Item

#: Characters of HTML in the cache of a process: the items and rows of some 200 pages.
MAX_CACHE_CHARS = 20_000_000
#: Characters of the longest HTML that is cached.
MAX_ENTRY_CHARS = 100_000
_KEY_BYTES = 24

_html_cache: LRUCache[bytes, SafeString] = LRUCache(MAX_CACHE_CHARS, getsizeof=len)
_html_cache_lock = Lock()


class ItemRecord(NamedTuple):
    """What is on record of an item beside its elements: question keys, decisions of its call."""

    conversation_id: int
    question_ids: dict[str, int]
    decisions: Sequence[CallDecision]


def get_or_render_html(key: bytes, render: Callable[[], SafeString]) -> SafeString:
    """Return the cached HTML with this key; render and cache it where there is none."""
    with _html_cache_lock:
        html = _html_cache.get(key)
    if html is None:
        html = render()
        if len(html) <= MAX_ENTRY_CHARS:
            with _html_cache_lock:
                _html_cache[key] = html
    return html


def make_key(*inputs: Any) -> bytes:
    """Return a digest of all that HTML depends on: values whose ``repr`` tells them apart."""
    return blake2b(repr(inputs).encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


def list_fields(row: Conversation | Inquiry) -> list[tuple[str, Any]]:
    """Return the loaded fields and annotations of a row, as inputs of a key."""
    return [(name, value) for name, value in vars(row).items() if name != "_state"]


def make_item_key(
    item: Item,
    record: ItemRecord,
    oob: bool,
    open_folds: frozenset[str],
    closed_folds: frozenset[str],
) -> bytes:
    """Return a digest of all that the HTML of an item depends on."""
    elements = item.elements
    anchors = {placed.anchor for placed in elements}
    return make_key(
        record.conversation_id,
        oob,
        sorted(anchors & open_folds),
        sorted(anchors & closed_folds),
        [(anchor, record.question_ids.get(anchor)) for anchor in sorted(anchors)],
        [(decision, _format_age(decision.settled_at)) for decision in record.decisions],
        [(placed.place, placed.anchor, placed.legacy_tag) for placed in elements],
        # The text tells all of an element, unless its body was shortened.
        [each.element if each.element.is_shortened else each.element.raw for each in elements],
        *_describe_structure(item),
    )


def _describe_structure(item: Item) -> tuple[Any, ...]:
    """Return which elements of an item belong together, and the states of its inquiries."""
    match item:
        case ToolCall(response=response, inquiries=inquiries):
            return "call", bool(response), [_describe_inquiry(inquiry) for inquiry in inquiries]
        case OrphanInquiry(inquiry=inquiry):
            return "inquiry", _describe_inquiry(inquiry)
        case StandaloneItem(orphan=orphan):
            return "element", orphan


def _describe_inquiry(inquiry: InquiryPair) -> tuple[bool, str, str]:
    return bool(inquiry.response), inquiry.state, _format_age(inquiry.settled_at)


def _format_age(settled_at: datetime | None) -> str:
    return display_text.format_age(settled_at) if settled_at else ""
