"""Comments as pages show them: threads of a conversation, their comments, and first lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count
from django.db.models.functions import Length

from jpweb.store.choices import SuspectedSecretState
from jpweb.store.masking import masks, replacement
from jpweb.store.masking.masks import Masks
from jpweb.store.models import Comment, CommentThread, JournalEntry, SuspectedSecret
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import anchor_ids, wire
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.transcript.grouping import extract_title

#: A conversation's key, and the anchor of an event.
EventKey = tuple[int, str]
#: Characters of an event of which a first line is read; of a larger one there is none.
MAX_READ_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """The state of an event's thread."""

    anchor: str
    version: int
    comment_count: int
    is_resolved: bool


@dataclass(frozen=True, slots=True)
class ShownComment:
    """A comment, and its text without the secrets that are masked in its event."""

    comment: Comment
    text: str


@dataclass(frozen=True, slots=True)
class ShownThread:
    """A thread with its comments, the oldest first."""

    thread: CommentThread
    comments: list[ShownComment] = field(default_factory=list)


def list_summaries(conversation_id: int) -> list[ThreadSummary]:
    """Return the state of each thread of a conversation; one query."""
    return [
        ThreadSummary(anchor, version, count, resolved_at is not None)
        for anchor, version, count, resolved_at in _summary_query([conversation_id])
    ]


#: The ORM takes 0.5 ms longer for each of these, which transcripts and lists run.
_summary_query = CompiledQuery(
    lambda conversation_ids: (
        CommentThread.objects.filter(conversation_id__in=conversation_ids)
        .annotate(comment_count=Count("comments"))
        .order_by("pk")
        .values_list("anchor", "version", "comment_count", "resolved_at")
    )
)


def count_open(conversation_ids: Sequence[int]) -> dict[int, int]:
    """Return the numbers of comments in open threads by conversation, where there are any."""
    return dict(_open_query(conversation_ids)) if conversation_ids else {}


_open_query = CompiledQuery(
    lambda conversation_ids: (
        Comment.objects.filter(
            thread__conversation_id__in=conversation_ids, thread__resolved_at=None
        )
        .order_by()
        .values_list("thread__conversation_id")
        .annotate(Count("pk"))
    )
)


def load_threads(conversation_id: int, anchors: Collection[str]) -> dict[str, ShownThread]:
    """Return the threads of these events by anchor, with their comments."""
    if not anchors:
        return {}
    rows = Comment.objects.filter(
        thread__conversation_id=conversation_id, thread__anchor__in=anchors
    )
    comments = list(rows.select_related("thread", "author").order_by("pk"))
    threads: dict[str, ShownThread] = {}
    for shown_comment in mask_comments(comments):
        thread = shown_comment.comment.thread
        shown_thread = threads.setdefault(thread.anchor, ShownThread(thread))
        shown_thread.comments.append(shown_comment)
    return threads


def mask_comments(comments: Sequence[Comment]) -> list[ShownComment]:
    """Return comments without the secrets that are masked in their events."""
    keys = {(row.thread.conversation_id, row.thread.anchor) for row in comments}
    secrets = _load_secrets(keys)
    return [
        ShownComment(
            row, _mask(row.text, secrets.get((row.thread.conversation_id, row.thread.anchor), {}))
        )
        for row in comments
    ]


def find_positions(conversation_id: int, anchors: Iterable[str]) -> dict[str, int]:
    """Return the positions of the items of these events; those that are gone are left out."""
    elements = {anchor: anchor_ids.split_anchor(anchor)[0] for anchor in anchors}
    if not elements:
        return {}
    rows = JournalEntry.objects.filter(
        conversation_id=conversation_id, anchor__in=set(elements.values())
    )
    positions = dict(rows.values_list("anchor", "item_position"))
    return {
        anchor: positions[element] for anchor, element in elements.items() if element in positions
    }


def load_first_lines(keys: Collection[EventKey]) -> Mapping[EventKey, str]:
    """Return the first line of events by conversation and anchor, masked; two queries."""
    anchors = {anchor_ids.split_anchor(anchor)[0] for _, anchor in keys if anchor}
    if not anchors:
        return {}
    conversation_ids = {conversation_id for conversation_id, _ in keys}
    rows_by_event = _load_suspicions(conversation_ids, anchors)
    rows = JournalEntry.objects.filter(conversation_id__in=conversation_ids, anchor__in=anchors)
    short_rows = rows.alias(size=Length("text")).filter(size__lte=MAX_READ_CHARS)
    lines = dict.fromkeys(rows.values_list("conversation_id", "anchor"), "")
    for conversation_id, anchor, text in short_rows.values_list(
        "conversation_id", "anchor", "text"
    ):
        event_masks = Masks(rows_by_event.get((conversation_id, anchor), ()))
        element = event_masks.read_element(anchor, text)
        lines[conversation_id, anchor] = _find_first_line(element)
    return {
        (key, anchor): lines[key, anchor_ids.split_anchor(anchor)[0]]
        for key, anchor in keys
        if (key, anchor_ids.split_anchor(anchor)[0]) in lines
    }


def _find_first_line(element: Element) -> str:
    kind = element.body.kind if isinstance(element.body, ConversationEvent) else None
    match kind:
        case InquiryRequest(question=question):
            return extract_title(question.text)
        case ToolCallRequest(name=name):
            return extract_title(name)
        case _:
            pass
    texts = (extract_title(content.text) for content in masks.list_texts(element))
    return next((line for line in texts if line), "")


def _load_suspicions(
    conversation_ids: Collection[int], anchors: Collection[str]
) -> dict[EventKey, list[SuspectedSecret]]:
    """Return the masks of these events, by conversation and anchor; one query."""
    rows = SuspectedSecret.objects.filter(
        conversation_id__in=conversation_ids, anchor__in=anchors, state=SuspectedSecretState.OPEN
    )
    rows_by_event: defaultdict[EventKey, list[SuspectedSecret]] = defaultdict(list)
    for row in rows.order_by("id"):
        rows_by_event[row.conversation_id, row.anchor].append(row)
    return rows_by_event


def _load_secrets(keys: Collection[EventKey]) -> dict[EventKey, dict[str, str]]:
    """Return the masked secrets of these events, with their markers; at most two queries."""
    elements = {key: (key[0], anchor_ids.split_anchor(key[1])[0]) for key in keys}
    if not elements:
        return {}
    rows_by_event = _load_suspicions(*_split_keys(elements.values()))
    if not rows_by_event:
        return {}
    conversation_ids, anchors = _split_keys(rows_by_event)
    entries = JournalEntry.objects.filter(conversation_id__in=conversation_ids, anchor__in=anchors)
    secrets = {
        (conversation_id, anchor): masks.read_secrets(
            wire.read_element(text), rows_by_event.get((conversation_id, anchor), ())
        )
        for conversation_id, anchor, text in entries.values_list(
            "conversation_id", "anchor", "text"
        )
    }
    return {key: secrets.get(element, {}) for key, element in elements.items()}


def _split_keys(keys: Iterable[EventKey]) -> tuple[set[int], set[str]]:
    keys = list(keys)
    return {conversation_id for conversation_id, _ in keys}, {anchor for _, anchor in keys}


def _mask(text: str, markers_by_secret: Mapping[str, str]) -> str:
    for secret in sorted(markers_by_secret, key=len, reverse=True):
        text = replacement.replace_strings(text, [secret], markers_by_secret[secret])
    return text
