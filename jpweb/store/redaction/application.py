"""Applies a redaction: replaces text in short transactions, each of which leaves a true record.

The only code that changes the text of a journal row. Each replacement is an entry of the ledger,
by which ``jpweb.store.ledger.verification`` accepts it. Copies come first: a redaction that breaks
off has events left, so that repeating it finishes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from time import monotonic, sleep
from typing import NamedTuple

from django.db import transaction

from jpweb.evidence import keyed_hashes
from jpweb.store import db_text, journal
from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, NewAct, Place, record_acts
from jpweb.store.masking import derived_columns, masks, replacement
from jpweb.store.masking.replacement import Replacement
from jpweb.store.models import (
    Conversation,
    JournalEntry,
    Passage,
    Person,
    Redaction,
    SuspectedSecret,
    Turn,
)
from jpweb.store.redaction import column_copies, plans
from jpweb.store.redaction.plans import NotRedactable, Plan, Preview, RedactionRequest
from jpweb.store.sql import compiled_write
from jpweb.store.suspected_secrets import copies, suggestions
from jpweb.stream import anchor_ids, wire
from jpweb.stream.events import ChatRequest
from jpweb.stream.transcript.categories import categorize_element

#: Seconds after which a transaction ends, and seconds until the next one begins: the longest
#: interval at which SQLite's busy handler asks for the write lock is 0.1 s.
BATCH_SECONDS, PAUSE_SECONDS = 0.2, 0.12
#: Entries between two looks at the clock; one in which secrets are suspected counts as all.
MAX_STEP_ENTRIES = 20
_COLUMNS = ("revision", "needs_indexing", "title", "category_counts")


def preview_redaction(
    conversation: Conversation, request: RedactionRequest, person: Person
) -> Preview:
    """Return what a redaction would replace; writes nothing. Raises NotRedactable."""
    return plans.make_plan(conversation.pk, request, person).preview


def redact(conversation: Conversation, request: RedactionRequest, person: Person) -> Preview:
    """Replace content of an event, and its copies in other columns. Raises NotRedactable.

    A large one takes several transactions. Repeating one that broke off replaces the rest.
    """
    plan = plans.make_plan(conversation.pk, request, person)
    preview = plan.preview
    while plan.entry_keys:
        if not _Replacing(conversation.pk, plan, person).run():
            break
        plan = plans.find_changes(conversation.pk, request, person)
    return preview


def list_redactions(conversation_id: int, anchor: str) -> list[Redaction]:
    """Return the redactions of an event, the oldest first."""
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    rows = Redaction.objects.filter(conversation_id=conversation_id, anchor=element_anchor)
    return list(rows.order_by("id"))


def has_redactions(conversation_id: int) -> bool:
    """Tell whether anything in a conversation was redacted after the fact."""
    return Redaction.objects.filter(conversation_id=conversation_id).exists()


class _ReplacedEntry(NamedTuple):
    entry: JournalEntry
    change: Replacement
    key: str
    new_text: str


class _Replacing:
    """One plan on its way into the database."""

    def __init__(self, conversation_id: int, plan: Plan, person: Person) -> None:
        self._plan, self._person, self._key = plan, person, conversation_id
        self._content = plan.content
        self._conversation: Conversation = Conversation(pk=conversation_id)
        self._open_rows: list[SuspectedSecret] = []
        self._version: tuple[int, int] | None = None
        self._is_overtaken = False
        self._done_count = 0

    def run(self) -> bool:
        """Replace all; return whether others changed the conversation meanwhile.

        Raises NotRedactable where a turn began.
        """
        steps, is_done = self._replace_all(), False
        while not is_done:
            with transaction.atomic():
                self._lock()
                deadline = monotonic() + BATCH_SECONDS
                is_done = not any(monotonic() > deadline for _ in steps)
                self._save()
            if not is_done:
                sleep(PAUSE_SECONDS)
        return self._is_overtaken

    def _lock(self) -> None:
        """Lock the conversation as it is now. Raises NotRedactable."""
        self._conversation = journal.lock_conversation(self._key)
        if obstacle := plans.describe_obstacle(self._key):
            total = len(self._plan.entry_keys)
            progress = (
                f" {self._done_count} of {total} events are redacted." if self._version else ""
            )
            raise NotRedactable(obstacle + progress)
        version = (self._conversation.revision, self._conversation.entry_count)
        self._is_overtaken |= self._version not in (None, version)

    def _save(self) -> None:
        conversation = self._conversation
        if self._open_rows:
            copies.mask_settled(conversation, self._open_rows)
            self._open_rows = []
        conversation.revision += 1
        conversation.needs_indexing = True
        conversation.save(update_fields=_COLUMNS)
        self._version = (conversation.revision, conversation.entry_count)

    def _replace_all(self) -> Iterator[None]:
        """Replace copies, then entries; after the last one, copies that came meanwhile."""
        plan = self._plan
        for key, before, after in plan.turn_titles:
            compiled_write.update_rows(Turn, {"id": key, "title": before}, title=after)
            yield
        for copy in plan.copies:
            column_copies.replace_copy(copy, self._content)
            yield
        column_copies.replace_title(self._conversation, self._content)
        for keys in _make_steps(plan.entry_keys):
            self._replace_entries(keys)
            self._done_count += len(keys)
            if self._done_count == len(plan.entry_keys):
                self._replace_new_copies()
            yield

    def _replace_new_copies(self) -> None:
        """Replace what others wrote since the plan, also with masks that are new."""
        open_secrets = copies.read_open_secrets(self._key)
        secrets_by_marker = {**open_secrets, **self._content.secrets_by_marker}
        content = replace(self._content, secrets_by_marker=secrets_by_marker)
        for copy in column_copies.find_copies(self._conversation, content):
            column_copies.replace_copy(copy, content)
        column_copies.replace_title(self._conversation, content)

    def _replace_entries(self, keys: Sequence[int]) -> None:
        """Replace entries, their derived columns and passages, and record that."""
        conversation = self._conversation
        entries = JournalEntry.objects.filter(conversation=conversation, pk__in=keys)
        rows = [
            _ReplacedEntry(
                entry, change, keyed_hashes.make_key(), db_text.clean_text(change.element.raw)
            )
            for entry in entries.order_by("position")
            if (
                change := plans.make_replacement(entry, self._plan.request, self._plan.marker)
            ).counts
        ]
        if not rows:
            return
        positions = [row.entry.position for row in rows]
        self._record(rows)
        Passage.objects.filter(conversation=conversation, position__in=positions).delete()
        anchors = [row.entry.anchor for row in rows]
        event_masks = masks.load_masks(conversation.pk, anchors)
        suspected = SuspectedSecret.objects.filter(conversation=conversation, anchor__in=anchors)
        suspected_anchors = set(suspected.values_list("anchor", flat=True))
        for row in rows:
            self._replace_entry(row, event_masks, suspected_anchors)
        derived_columns.mark_unreviewed(conversation, positions)

    def _replace_entry(
        self, row: _ReplacedEntry, event_masks: masks.Masks, suspected_anchors: Collection[str]
    ) -> None:
        conversation, entry, new_element = self._conversation, row.entry, row.change.element
        old_element, category = wire.read_element(entry.text), categorize_element(new_element)
        compiled_write.update_rows(
            JournalEntry,
            {"id": entry.pk},
            text=row.new_text,
            kind=new_element.tag[:100],
            category=category,
        )
        if entry.category != category:
            counts = conversation.category_counts
            counts[entry.category] = counts.get(entry.category, 1) - 1
            counts[category] = counts.get(category, 0) + 1
        if any(isinstance(event.kind, ChatRequest) for event in old_element.events):
            for titled_element in (event_masks.read_element(entry.anchor, entry.text), old_element):
                derived_columns.replace_turn_title(
                    conversation, entry.position, titled_element, new_element
                )
        derived_columns.replace_inquiry_columns(conversation, entry.position, new_element)
        if entry.anchor in suspected_anchors:
            self._open_rows += suggestions.follow_redaction(
                conversation, entry, old_element, new_element, self._person
            )

    def _record(self, rows: Sequence[_ReplacedEntry]) -> None:
        """Write a row and an entry of the ledger for each event."""
        conversation, request = self._conversation, self._plan.request
        earlier_rows = Redaction.objects.filter(
            conversation=conversation, anchor__in=[row.entry.anchor for row in rows]
        )
        numbers = Counter(earlier_rows.values_list("anchor", flat=True))
        earlier_rows.exclude(text="").update(text="")
        redactions = Redaction.objects.bulk_create(
            Redaction(
                conversation=conversation,
                anchor=row.entry.anchor,
                person=self._person,
                reason=request.reason,
                key=row.key,
                digest_before=keyed_hashes.compute_digest(row.key, row.entry.text),
                digest_after=keyed_hashes.compute_digest(row.key, row.new_text),
                text=row.new_text,
            )
            for row in rows
        )
        record_acts(
            self._make_act(row, redaction, numbers[row.entry.anchor] + 1)
            for row, redaction in zip(rows, redactions, strict=True)
        )

    def _make_act(self, row: _ReplacedEntry, redaction: Redaction, number: int) -> NewAct:
        counts, anchor, text_key = (
            row.change.counts,
            row.entry.anchor,
            keyed_hashes.derive_text_key,
        )
        details = {
            "event": anchor,
            "reason": redaction.reason,
            "scope": "strings" if self._plan.request.strings else "content",
            "number": number,
            "places": replacement.list_places(counts),
            "replacements": sum(counts.values()),
            "digest_before": redaction.digest_before,
            "digest_after": redaction.digest_after,
            "text_digest": keyed_hashes.compute_digest(text_key(row.key), row.new_text),
            "redaction": redaction.pk,
        }
        place = Place(self._conversation.workspace_id, self._key, f"event:{anchor}")
        return NewAct(Act.REDACTED, Actor.from_person(self._person), place, details)


def _make_steps(entry_keys: Sequence[tuple[int, bool]]) -> Iterator[list[int]]:
    """Yield the keys of entries, in the groups that are replaced without a look at the clock."""
    group: list[int] = []
    for key, is_suspected in entry_keys:
        if group and (is_suspected or len(group) == MAX_STEP_ENTRIES):
            yield group
            group = []
        group.append(key)
        if is_suspected:
            yield group
            group = []
    if group:
        yield group
