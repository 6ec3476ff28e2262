"""Conditions of the decisions' filters on the rows of each table.

An entry of the ledger has its tool, the kind of its decider and its reason in its text, which is
canonical JSON. Text in a string has its quotes escaped, so a key with its value is found nowhere
else. The functions that look for them compare case in SQLite too, unlike LIKE.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat, StrIndex
from django.db.models.lookups import GreaterThan

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import ApprovalState
from jpweb.store.models import Inquiry, Membership
from jpweb.store.sql.call_ids import build_inquiry_match
from jpweb.store.sql.spellings import build_contains, list_spellings

if TYPE_CHECKING:
    from jpweb.store.reviews.decisions import DecisionFilters

#: Questions with one id, or of one tool call, whose entries are let through.
_MAX_MATCHED_QUESTIONS = 100


class DecisionMatch(NamedTuple):
    """The conditions of filters on the rows of each table."""

    inquiries: Q
    approvals: Q
    entries: Q

    def __and__(self, other: DecisionMatch) -> DecisionMatch:
        """Return the conditions that let through the rows of both."""
        return DecisionMatch(
            *(
                own_condition & other_condition
                for own_condition, other_condition in zip(self, other, strict=True)
            )
        )


def match_filters(
    audited_memberships: QuerySet[Membership], filters: DecisionFilters
) -> DecisionMatch:
    """Return the conditions of the id, the tool, the words, the kind and the name of decider."""
    if any("\x00" in text for text in (filters.identifier, *_list_texts(filters))):
        no_rows = Q(pk__in=[])  # no row contains NUL, and PostgreSQL refuses it
        return DecisionMatch(no_rows, no_rows, no_rows)
    match = DecisionMatch(Q(), Q(), Q())
    if filters.identifier:
        match &= _match_identifier(audited_memberships, filters.identifier)
    if filters.tool:
        match &= _match_tool(filters.tool)
    if filters.words:
        match &= _match_words(filters.words)
    if filters.decided:
        match &= _match_decider(filters.decided)
    if filters.decider:
        match &= _match_decider_name(filters.decider)
    return match


def is_scan(filters: DecisionFilters) -> bool:
    """Tell whether rows are tested one by one, and nothing else makes them few."""
    return any(_list_texts(filters)) and filters.conversation is None and not filters.identifier


def _list_texts(filters: DecisionFilters) -> tuple[str, ...]:
    return filters.tool, filters.words, filters.decided, filters.decider


def _match_identifier(audited_memberships: QuerySet[Membership], identifier: str) -> DecisionMatch:
    """Return the conditions of an id.

    Entries have no ids: those of the newest questions that match are let through.
    """
    inquiries = build_inquiry_match(identifier)
    is_audited = Exists(
        audited_memberships.filter(workspace__conversations=OuterRef("conversation_id"))
    )
    rows = Inquiry.objects.filter(is_audited, inquiries).order_by("-pk")
    places = list(rows.values_list("pk", "anchor")[: _MAX_MATCHED_QUESTIONS + 1])
    if len(places) <= _MAX_MATCHED_QUESTIONS:
        # No index has the id: by their keys the rows are found without another scan.
        inquiries = Q(pk__in=[key for key, _ in places])
    subjects = [name for key, anchor in places for name in (f"inquiry:{key}", f"event:{anchor}")]
    return DecisionMatch(inquiries, Q(tool_call_id=identifier), Q(subject__in=subjects))


def _match_tool(tool: str) -> DecisionMatch:
    return DecisionMatch(
        Q(asker=tool), Q(tool_name=tool), _has_text(Value(f'"tool":{_encode(tool)}'))
    )


def _match_words(words: str) -> DecisionMatch:
    """Return the condition that the question, or what a person wrote on it, contains words.

    Entries have a reason, or the note of a dismissal; those of reviews have no note.
    """
    patterns = [
        rf'"(reason|note)":"([^"\\]|\\.)*{re.escape(_encode(spelling)[1:-1])}'
        for spelling in list_spellings(words)
    ]
    entries = Q()
    for pattern in patterns:
        entries |= Q(text__iregex=pattern)
    return DecisionMatch(
        build_contains("question__text", words) | build_contains("note", words),
        build_contains("decision__reason", words),
        entries,
    )


#: The state of approvals that each kind of decider settles.
_APPROVAL_STATES = {"person": ApprovalState.DECIDED, "system": ApprovalState.WITHDRAWN}


def _match_decider(kind: str) -> DecisionMatch:
    """Return the conditions of a kind of decider; jpweb withdraws approvals without a person."""
    approval_state = _APPROVAL_STATES.get(kind)
    kind_text = f'"kind":{_encode(kind)}'
    key = Cast(F("person_id"), CharField())
    with_key = Concat(Value('"by":{"id":'), key, Value(f",{kind_text}"))
    return DecisionMatch(
        Q(decided_by=kind),
        Q(state=approval_state) if approval_state else Q(pk__in=[]),
        _has_text(Value(f'"by":{{{kind_text}')) | _has_text(with_key),
    )


def _match_decider_name(name: str) -> DecisionMatch:
    """Return the conditions of a decider's name on record; answers in jp have no account."""
    pattern = rf'"by":\{{("id":[0-9]+,)?"kind":"[a-z_]+","name":{re.escape(_encode(name))}\}}'
    return DecisionMatch(Q(decider_name=name), Q(decider_name=name), Q(text__regex=pattern))


def _has_text(part: Value | Concat) -> Q:
    """Return the condition that the text of an entry contains a part."""
    return Q(GreaterThan(StrIndex("text", part), 0))


def _encode(text: str) -> str:
    return ledger_verifier.encode_canonical(text)
