"""Redacts events: plans the replacements, and applies them in one transaction.

The only code that changes the text of a journal row. Each replacement is an entry of the ledger,
by which ``jpweb.store.ledger.verification`` accepts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import models, transaction

from jpweb.evidence import keyed_hashes
from jpweb.store import db_text, journal
from jpweb.store.choices import UNFINISHED_STATES, Act
from jpweb.store.errors import StoreError
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.masking import derived_columns, masks, replacement
from jpweb.store.masking.replacement import Replacement
from jpweb.store.models import Conversation, JournalEntry, Passage, Person, Redaction, Run
from jpweb.store.redaction import column_copies, kept_texts
from jpweb.store.redaction.column_copies import CopiedContent
from jpweb.store.suspected_secrets import copies, suggestions
from jpweb.stream import anchor_ids, wire
from jpweb.stream.errors import MalformedElement
from jpweb.stream.transcript.categories import categorize_element

#: Characters of a reason, which the marker contains.
MAX_REASON_CHARS = 200
#: Strings of one redaction, and characters of the shortest: a shorter one is in many words.
MAX_STRINGS, MIN_STRING_CHARS = 20, 3
#: Entries and characters of a conversation that are searched for strings in one request.
MAX_SEARCHED_ENTRIES, MAX_SEARCHED_CHARS = 5_000, 10_000_000


class NotRedactable(StoreError):
    """Nothing can be replaced there; says why."""


@dataclass(frozen=True, slots=True)
class RedactionRequest:
    """A person's request: without ``strings`` all content of the event is replaced."""

    anchor: str
    reason: str
    strings: tuple[str, ...] = ()
    is_conversation_wide: bool = False

    def make_marker(self, person_name: str) -> str:
        return replacement.REDACTION_MARKER.format(person_name=person_name, reason=self.reason)


@dataclass(slots=True)
class Preview:
    """A plan: replacements by event and place, and by other column; and the content that stays."""

    events: list[PreviewedEvent] = field(default_factory=list)
    copies: dict[str, int] = field(default_factory=dict)
    #: Events that keep a string in a name, an id or a time.
    kept_events: list[KeptEvent] = field(default_factory=list)
    #: Rows of other tables that keep one, by place.
    kept_copies: dict[str, int] = field(default_factory=dict)
    #: The file that still has the content, if there is one.
    file: str = ""


@dataclass(frozen=True, slots=True)
class PreviewedEvent:
    """An event, and the number of replacements by place."""

    anchor: str
    position: int
    kind: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event, and its fields that a redaction of strings leaves."""

    anchor: str
    position: int
    kind: str
    fields: list[str]


def preview_redaction(
    conversation: Conversation, request: RedactionRequest, person: Person
) -> Preview:
    """Return the plan of a redaction; changes nothing. Raises NotRedactable."""
    with transaction.atomic():
        preview = _redact(conversation.pk, request, person)
        transaction.set_rollback(True)
    return preview


@transaction.atomic
def redact(conversation: Conversation, request: RedactionRequest, person: Person) -> Preview:
    """Replace content of an event, and its copies in other columns. Raises NotRedactable."""
    return _redact(conversation.pk, request, person)


def describe_obstacle(conversation_id: int) -> str:
    """Return the reason why a conversation cannot be redacted now; empty where it can."""
    if Run.objects.filter(conversation=conversation_id, state__in=UNFINISHED_STATES).exists():
        return "A turn runs in this conversation. Stop it, then redact."
    return ""


def list_redactions(conversation_id: int, anchor: str) -> list[Redaction]:
    """Return the redactions of an event, the oldest first."""
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    rows = Redaction.objects.filter(conversation_id=conversation_id, anchor=element_anchor)
    return list(rows.order_by("id"))


def has_redactions(conversation_id: int) -> bool:
    """Tell whether anything in a conversation was redacted after the fact."""
    return Redaction.objects.filter(conversation_id=conversation_id).exists()


def _redact(conversation_id: int, request: RedactionRequest, person: Person) -> Preview:
    conversation = journal.lock_conversation(conversation_id)
    if obstacle := describe_obstacle(conversation.pk):
        raise NotRedactable(obstacle)
    marker = db_text.clean_text(request.make_marker(person.display_name))
    resolved_strings = suggestions.resolve_markers(conversation.pk, request.strings)
    request = replace(request, strings=resolved_strings)
    preview = Preview(file=conversation.source)
    replacements, preview.kept_events = _find_replacements(conversation, request, marker)
    if not replacements:
        raise NotRedactable(_describe_absence(preview.kept_events))
    secrets_by_marker = copies.read_open_secrets(conversation.pk)  # some are closed below
    strings: tuple[str, ...] = request.strings
    keys: set[str] = set()
    for entry, change in replacements:
        _replace_entry(conversation, entry, change, request, person)
        strings = strings or change.strings
        keys |= change.keys
        preview.events.append(
            PreviewedEvent(entry.anchor, entry.position, entry.kind, change.counts)
        )
    content = CopiedContent(strings, keys, marker, secrets_by_marker)
    preview.copies = column_copies.replace_copies(conversation, content)
    preview.kept_copies = kept_texts.count_kept_columns(conversation, strings)
    derived_columns.mark_unreviewed(conversation, [event.position for event in preview.events])
    conversation.revision += 1
    conversation.needs_indexing = True
    conversation.save(update_fields=["revision", "needs_indexing", "title"])
    return preview


def _find_replacements(
    conversation: Conversation, request: RedactionRequest, marker: str
) -> tuple[list[tuple[JournalEntry, Replacement]], list[KeptEvent]]:
    """Return the entries to change, with their new elements, and those that keep a string.

    Raises NotRedactable.
    """
    replacements: list[tuple[JournalEntry, Replacement]] = []
    kept_events: list[KeptEvent] = []
    entries = _select_entries(conversation, request).order_by("position")
    for entry in entries.iterator(chunk_size=200):
        change = _make_replacement(entry, request, marker)
        if change.counts:
            replacements.append((entry, change))
        if fields := kept_texts.list_kept_fields(change.element, request.strings):
            kept_events.append(KeptEvent(entry.anchor, entry.position, entry.kind, fields))
    return replacements, kept_events


def _describe_absence(kept_events: Sequence[KeptEvent]) -> str:
    """Return why nothing is replaced."""
    if not kept_events:
        return "None of these strings is in the content. Check their spelling."
    places = [f"event {event.position} ({', '.join(event.fields)})" for event in kept_events]
    return (
        "These strings are only in names, ids or times, which can't be redacted: "
        f"{kept_texts.join_first(places)}. If one is a secret, change it where it is used."
    )


def _select_entries(
    conversation: Conversation, request: RedactionRequest
) -> models.QuerySet[JournalEntry]:
    """Return the entries to search: the event and those equal to it, or all."""
    entries = JournalEntry.objects.filter(conversation=conversation)
    if request.is_conversation_wide:
        if _is_too_long(conversation):
            raise NotRedactable(
                "This conversation is too long to search at once. Redact each event."
            )
        return entries
    element_anchor, _ = anchor_ids.split_anchor(request.anchor)
    content_anchor = anchor_ids.strip_ordinal(element_anchor)
    is_same_event = models.Q(anchor=content_anchor) | models.Q(
        anchor__startswith=f"{content_anchor}-x"
    )
    return entries.filter(is_same_event)


def _make_replacement(entry: JournalEntry, request: RedactionRequest, marker: str) -> Replacement:
    """Return the new element of an entry. Raises NotRedactable where content would stay."""
    element, strings = wire.read_element(entry.text), request.strings
    try:
        change = (
            replacement.replace_in_element(element, strings, marker, has_numbers=True)
            if strings
            else replacement.replace_whole(element, marker)
        )
    except MalformedElement as error:
        raise NotRedactable(
            f"Event {entry.position} can't keep its form with these strings replaced: {error}. "
            "Redact all of its content instead."
        ) from error
    if change.counts and any(string in marker for string in change.strings):
        raise NotRedactable("The reason repeats what is redacted. Say it in other words.")
    is_kept = any(string in change.element.raw for string in strings)
    if change.counts and is_kept and not request.is_conversation_wide:
        raise NotRedactable(
            f"One of these strings is also in a name or an id of event {entry.position}. Names "
            "and ids can't be redacted. Redact all content of the event, or these strings "
            "everywhere in the conversation: the preview then names what stays."
        )
    return change


def _is_too_long(conversation: Conversation) -> bool:
    entries = JournalEntry.objects.filter(conversation=conversation)
    if conversation.entry_count > MAX_SEARCHED_ENTRIES:
        return True
    size = models.Sum(models.functions.Length("text"))
    return (entries.aggregate(size=size)["size"] or 0) > MAX_SEARCHED_CHARS


def _replace_entry(
    conversation: Conversation,
    entry: JournalEntry,
    change: Replacement,
    request: RedactionRequest,
    person: Person,
) -> None:
    """Replace one entry, its derived columns and passages, and record that."""
    old_text, element = entry.text, change.element
    new_text = db_text.clean_text(element.raw)
    key = keyed_hashes.make_key()
    earlier_redactions = Redaction.objects.filter(conversation=conversation, anchor=entry.anchor)
    earlier_redactions.update(text="")
    redaction = Redaction.objects.create(
        conversation=conversation,
        anchor=entry.anchor,
        person=person,
        reason=request.reason,
        key=key,
        digest_before=keyed_hashes.compute_digest(key, old_text),
        digest_after=keyed_hashes.compute_digest(key, new_text),
        text=new_text,
    )
    JournalEntry.objects.filter(pk=entry.pk).update(
        text=new_text, kind=element.tag[:100], category=categorize_element(element)
    )
    _update_category_count(conversation, entry.category, categorize_element(element))
    Passage.objects.filter(conversation=conversation, position=entry.position).delete()
    old_element = wire.read_element(old_text)
    event_masks = masks.load_masks(conversation.pk, [entry.anchor])
    for titled_element in (event_masks.read_element(entry.anchor, old_text), old_element):
        derived_columns.replace_turn_title(conversation, entry.position, titled_element, element)
    derived_columns.replace_inquiry_columns(conversation, entry.position, element)
    suggestions.follow_redaction(conversation, entry, old_element, element, person)
    record_act(
        Act.REDACTED,
        Actor.from_person(person),
        Place(conversation.workspace_id, conversation.pk, f"event:{entry.anchor}"),
        event=entry.anchor,
        reason=request.reason,
        scope="strings" if request.strings else "content",
        number=earlier_redactions.count(),
        places=replacement.list_places(change.counts),
        replacements=sum(change.counts.values()),
        digest_before=redaction.digest_before,
        digest_after=redaction.digest_after,
        text_digest=keyed_hashes.compute_digest(keyed_hashes.derive_text_key(key), new_text),
        redaction=redaction.pk,
    )


def _update_category_count(
    conversation: Conversation, old_category: str, new_category: str
) -> None:
    if old_category == new_category:
        return
    conversation.category_counts[old_category] = (
        conversation.category_counts.get(old_category, 1) - 1
    )
    conversation.category_counts[new_category] = (
        conversation.category_counts.get(new_category, 0) + 1
    )
    conversation.save(update_fields=["category_counts"])
