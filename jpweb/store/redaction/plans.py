"""Plans a redaction: what is replaced where, and what stays. Reads alone, so it blocks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import models

from jpweb.store import db_text
from jpweb.store.choices import UNFINISHED_STATES
from jpweb.store.errors import StoreError
from jpweb.store.masking import masks, replacement
from jpweb.store.masking.derived_columns import TurnTitles
from jpweb.store.masking.replacement import Replacement
from jpweb.store.models import Conversation, JournalEntry, Person, Redaction, Run
from jpweb.store.redaction import column_copies, kept_texts
from jpweb.store.redaction.column_copies import CopiedContent, Copy
from jpweb.store.suspected_secrets import copies, suggestions
from jpweb.stream import anchor_ids, wire
from jpweb.stream.errors import MalformedElement

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
    """What a person asks for: without ``strings`` all content of the event is replaced."""

    anchor: str
    reason: str
    strings: tuple[str, ...] = ()
    is_conversation_wide: bool = False

    def make_marker(self, person_name: str) -> str:
        return replacement.REDACTION_MARKER.format(person_name=person_name, reason=self.reason)


@dataclass(slots=True)
class Preview:
    """What is replaced: replacements by event and place, and by other column; and what stays."""

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


@dataclass(slots=True)
class Plan:
    """What a redaction changes: entries, titles of turns as (key, before, after), and copies."""

    request: RedactionRequest
    marker: str
    preview: Preview
    #: Keys of the entries, each with whether secrets are suspected in it.
    entry_keys: list[tuple[int, bool]] = field(default_factory=list)
    turn_titles: list[tuple[int, str, str]] = field(default_factory=list)
    content: CopiedContent = field(default_factory=lambda: CopiedContent((), (), "", {}))
    copies: list[Copy] = field(default_factory=list)


def describe_obstacle(conversation_id: int) -> str:
    """Return why nothing of a conversation can be redacted now; empty where something can."""
    if Run.objects.filter(conversation=conversation_id, state__in=UNFINISHED_STATES).exists():
        return "A turn is running or waits for an answer. Stop it in the conversation, then redact."
    return ""


def make_plan(conversation_id: int, request: RedactionRequest, person: Person) -> Plan:
    """Return what a redaction changes. Raises NotRedactable, also where it changes nothing."""
    plan = find_changes(conversation_id, request, person)
    if not plan.entry_keys:
        kept_events = plan.preview.kept_events
        raise NotRedactable(_describe_absence(conversation_id, plan.request, kept_events))
    return plan


def find_changes(conversation_id: int, request: RedactionRequest, person: Person) -> Plan:
    """Return what a redaction changes; no entry where there is nothing. Raises NotRedactable."""
    conversation = Conversation.objects.get(pk=conversation_id)
    if obstacle := describe_obstacle(conversation.pk):
        raise NotRedactable(obstacle)
    resolved_strings = suggestions.resolve_markers(conversation.pk, request.strings)
    plan = Plan(
        replace(request, strings=resolved_strings),
        db_text.clean_text(request.make_marker(person.display_name)),
        Preview(file=conversation.source),
    )
    strings, keys, titles = _plan_entries(conversation, plan)
    secrets_by_marker = copies.read_open_secrets(conversation.pk)
    plan.content = CopiedContent(strings, keys, plan.marker, secrets_by_marker)
    if not plan.entry_keys:
        return plan
    plan.turn_titles = titles.list_changes()
    plan.copies = column_copies.find_copies(conversation, plan.content, titles.titles)
    counts = Counter(copy.place for copy in plan.copies)
    if column_copies.replace_in_title(conversation.title, plan.content) != conversation.title:
        counts["title"] = 1
    plan.preview.copies = dict(counts)
    plan.preview.kept_copies = kept_texts.count_kept_columns(conversation, strings)
    return plan


def make_replacement(entry: JournalEntry, request: RedactionRequest, marker: str) -> Replacement:
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
    if not strings and db_text.clean_text(change.element.raw) == entry.text:
        return Replacement(element, {}, ())  # done before, by a redaction that broke off
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


def _plan_entries(
    conversation: Conversation, plan: Plan
) -> tuple[tuple[str, ...], set[str], TurnTitles]:
    """Plan the entries to change, and those that keep a string; return what their copies have.

    Those are strings, keys of objects, and titles of turns. Raises NotRedactable.
    """
    strings, keys = plan.request.strings, set[str]()
    titles = TurnTitles(conversation)
    event_masks = masks.load_conversation_masks(conversation.pk)
    entries = _select_entries(conversation, plan.request).order_by("position")
    for entry in entries.iterator(chunk_size=200):
        place = (entry.anchor, entry.position, entry.kind)
        change = make_replacement(entry, plan.request, plan.marker)
        if change.counts:
            plan.preview.events.append(PreviewedEvent(*place, change.counts))
            plan.entry_keys.append((entry.pk, entry.anchor in event_masks))
            masked_element = event_masks.read_element(entry.anchor, entry.text)
            for old_element in (masked_element, wire.read_element(entry.text)):
                titles.replace(entry.position, old_element, change.element)
            strings, keys = strings or change.strings, keys | change.keys
        if fields := kept_texts.list_kept_fields(change.element, plan.request.strings):
            plan.preview.kept_events.append(KeptEvent(*place, fields))
    return strings, keys, titles


def _describe_absence(
    conversation_id: int, request: RedactionRequest, kept_events: Sequence[KeptEvent]
) -> str:
    """Return why nothing is replaced."""
    redactions = Redaction.objects.filter(conversation_id=conversation_id, anchor=request.anchor)
    if not request.strings and redactions.exists():
        return "This content is already redacted, with this reason."
    if not request.strings:
        return "This event has nothing to redact. Names, ids and times stay."
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
    equal_anchors = models.Q(anchor=content_anchor) | models.Q(
        anchor__startswith=f"{content_anchor}-x"
    )
    return entries.filter(equal_anchors)


def _is_too_long(conversation: Conversation) -> bool:
    entries = JournalEntry.objects.filter(conversation=conversation)
    if conversation.entry_count > MAX_SEARCHED_ENTRIES:
        return True
    size = models.Sum(models.functions.Length("text"))
    return (entries.aggregate(size=size)["size"] or 0) > MAX_SEARCHED_CHARS
