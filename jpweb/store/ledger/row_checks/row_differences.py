"""Parts of an entry that its row repeats, and the sentence about those that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.choices import Act
from jpweb.store.models import LedgerEntry, Person

#: Characters of a person's name in the columns of rows.
_MAX_NAME_CHARS = 200
#: The largest key of a row, and more digits than it has.
_MAX_KEY, _MAX_KEY_DIGITS = 2**63 - 1, 20


class ChainedAct(NamedTuple):
    """An entry whose text is that of the chain; ``subject_id`` is 0 where it names no row."""

    sequence: int
    act: str
    by: Mapping[str, Any]
    conversation_id: int
    subject_kind: str
    subject_id: int
    details: Mapping[str, Any]

    @classmethod
    def from_content(cls, sequence: int, content: Mapping[str, Any]) -> Self:
        """Return the act of an entry's JSON object; parts of another type are empty."""
        by, details = content.get("by"), content.get("details")
        kind, _, subject_id = str(content.get("subject", "")).partition(":")
        is_number = subject_id.isascii() and subject_id.isdecimal()
        return cls(
            sequence,
            str(content.get("act")),
            by if isinstance(by, dict) else {},
            _read_key(content.get("conversation")),
            kind,
            _read_key(int(subject_id[:_MAX_KEY_DIGITS])) if is_number else 0,
            details if isinstance(details, dict) else {},
        )


def _read_key(value: Any) -> int:
    """Return a key that a query accepts; 0, which is no row's, for another value."""
    return value if isinstance(value, int) and 0 < value <= _MAX_KEY else 0


def describe_differences(
    act: ChainedAct, name: str, is_same_by_part: Mapping[str, bool]
) -> Iterator[Problem]:
    """Yield one problem that names the parts in which a row differs from its entry."""
    parts = [part for part, is_same in is_same_by_part.items() if not is_same]
    if parts:
        yield Problem(act.sequence, f"the row of {name} differs from it: {', '.join(parts)}")


def is_decider_same(act: ChainedAct, name: str, person_id: int | None) -> bool:
    """Tell whether a row names the actor of an entry; a deleted account leaves its name alone."""
    recorded_name, recorded_id = str(act.by.get("name", "")), act.by.get("id")
    if name != recorded_name[:_MAX_NAME_CHARS]:
        return False
    if person_id is None and isinstance(recorded_id, int):
        return not Person.objects.filter(pk=_read_key(recorded_id)).exists()
    return person_id == recorded_id


def has_redaction(conversation_id: int) -> bool:
    """Tell whether an entry says that something in a conversation was redacted."""
    entries = LedgerEntry.objects.filter(conversation_id=conversation_id, act=Act.REDACTED)
    return entries.exists()
