"""Entries: each is inserted in the transaction of its act, and sealed into the chain within 1 s.

Chaining an entry at once would hold the chain's lock until the commit of its act: acts would wait
for each other, and two transactions with two acts each could deadlock. So ``sealing`` chains it
afterwards, as in Certificate Transparency (maximum merge delay, RFC 9162).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from django.db import transaction

from jpweb.evidence import ledger_verifier
from jpweb.store import db_text
from jpweb.store.database import clock
from jpweb.store.ledger import entry_macs
from jpweb.store.models import LedgerEntry
from jpweb.store.sql import compiled_write

if TYPE_CHECKING:
    from datetime import datetime

    from jpweb.store.choices import Act
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Person

#: Random bytes of each entry, so that the hash of a hidden entry does not reveal its text.
_NONCE_BYTES = 16


class Actor(NamedTuple):
    """The actor of an act. ``kind``: person, configuration, memory, assistant, system, operator."""

    kind: str
    name: str = ""
    person_id: int | None = None

    @classmethod
    def from_person(cls, person: Person) -> Self:
        return cls("person", person.display_name, person.pk)

    @classmethod
    def from_decider(cls, decider: Decider) -> Self:
        return cls(decider.kind, decider.name, decider.person_id)


SYSTEM = Actor("system")
#: The person who runs commands on the server.
OPERATOR = Actor("operator")


class Place(NamedTuple):
    """Where an act belongs, and its object: such as ``inquiry:7``."""

    workspace_id: int | None = None
    conversation_id: int | None = None
    subject: str = ""


class NewAct(NamedTuple):
    """An act to record. ``details`` are JSON values: a hash represents a conversation's content."""

    act: Act
    actor: Actor
    place: Place
    details: Mapping[str, Any]


def record_act(act: Act, actor: Actor, place: Place, **details: Any) -> int:
    """Insert the entry of an act, in the transaction of the caller; return its key."""
    values = _make_values(NewAct(act, actor, place, details))
    return compiled_write.insert_values(LedgerEntry, values)


def record_acts(new_acts: Iterable[NewAct]) -> None:
    """Insert the entries of several acts, all or none, by one statement."""
    entries = [LedgerEntry(**_make_values(new_act)) for new_act in new_acts]
    with transaction.atomic():
        compiled_write.insert_rows(entries)


def parse_content(text: str) -> dict[str, Any]:
    """Return the JSON object of an entry's text, without a decider or details that are no objects.

    A purged entry has an empty one, as has a damaged text, which ``verify_ledger`` names.
    """
    content = ledger_verifier.parse_object(text) or {}
    return {
        name: value
        for name, value in content.items()
        if name not in ("by", "details") or isinstance(value, dict)
    }


def read_details(text: str, text_hash: str) -> dict[str, Any]:
    """Return the details of an entry; none where its text is damaged or not the one of its hash."""
    if ledger_verifier.hash_text(text) != text_hash:
        return {}
    details: dict[str, Any] = parse_content(text).get("details", {})
    return details


def _make_values(new_act: NewAct) -> dict[str, Any]:
    """Return the values of an entry's columns; it has no place in the chain yet."""
    act, actor, place, _ = new_act
    recorded_at = clock.now()
    text = ledger_verifier.encode_canonical(_make_content(new_act, recorded_at))
    text_hash = ledger_verifier.hash_text(text)
    return {
        "sequence": None,
        "text": text,
        "text_hash": text_hash,
        "chain_hash": "",
        "mac": entry_macs.compute_mac(text_hash),
        "act": str(act),
        "at": recorded_at,
        "person_id": actor.person_id,
        "workspace_id": place.workspace_id,
        "conversation_id": place.conversation_id,
        "subject": place.subject,
    }


def _make_content(new_act: NewAct, recorded_at: datetime) -> dict[str, Any]:
    """Return the JSON object of an entry; keys without a value are left out."""
    act, actor, place, details = new_act
    by = {"kind": actor.kind, "name": db_text.clean_text(actor.name), "id": actor.person_id}
    content: dict[str, Any] = {
        "act": str(act),
        "at": recorded_at.isoformat(),
        "by": {key: value for key, value in by.items() if value not in (None, "")},
        "workspace": place.workspace_id,
        "conversation": place.conversation_id,
        "subject": place.subject,
        "details": db_text.clean_json(dict(details)),
        "nonce": secrets.token_hex(_NONCE_BYTES),
    }
    return {key: value for key, value in content.items() if value not in (None, "", {})}
