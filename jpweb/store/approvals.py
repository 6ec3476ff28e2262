"""Approvals: may this call run, may the model see this result (prompts of RFD 018).

They are in no journal. The row keeps an approval open across pages, and decides by
compare-and-set which of two decisions came first.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from django.db import transaction
from django.db.models import Count, QuerySet

from jpweb.store import db_text, journal
from jpweb.store.choices import Act, ApprovalKind, ApprovalState, RunState
from jpweb.store.database import clock
from jpweb.store.errors import AlreadyDecided, UnknownApproval
from jpweb.store.inbox import current_roles
from jpweb.store.inbox.queue import COUNT_LIMIT, MAX_INBOX_CARDS, filter_open_approvals
from jpweb.store.inbox.snoozes import is_snoozed
from jpweb.store.inquiries import Decider, list_open, list_open_in
from jpweb.store.ledger.entries import SYSTEM, Actor, Place, record_act
from jpweb.store.models import Approval, Inquiry, Run
from jpweb.store.run_queue import leases
from jpweb.store.sql import compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery

#: Key in ``subject``, though no page shows it: the definition of the tool that is decided on.
_DEFINITION_KEY = "definition"
#: Key in ``subject``: a formatter's text, which describes the arguments and decides nothing.
_FORMATTED_KEY = "text"
#: Key in the decision of an imported approval: it was edited, and the new text is in the events.
EDITED_KEY = "edited"
#: Keys in a decision that was edited.
_EDIT_KEYS = ("arguments", "content", EDITED_KEY)
_RETAINED_KEYS = ("described", "is_error", _DEFINITION_KEY)


@transaction.atomic
def request_approval(
    conversation_id: int,
    kind: ApprovalKind,
    tool_call_id: str,
    tool_name: str,
    content: Mapping[str, Any],
    held_run: Run | None = None,
) -> Approval:
    """Insert an approval of the running run. Raises UnknownApproval where no run is running.

    ``held_run`` is that run as its holder has it: raises LeaseLost where another process
    holds it. An unspent approval of the same call and content is reused, open or decided;
    one with other content is withdrawn. Another text of a formatter is no other content.
    The row shows characters that no database takes by others; its digest is of the content itself.
    """
    running_runs = Run.objects.filter(conversation_id=conversation_id, state=RunState.RUNNING)
    run = running_runs.select_related("conversation").first()
    if run is None:
        raise UnknownApproval("The turn has ended.")
    if held_run is not None:
        leases.assert_held(held_run)
    digests = _hash_content(_omit_formatted_text(content)), _hash_content(content)
    content = db_text.show_json(dict(content))
    unspent_approvals = _list_unspent(run).filter(
        kind=kind, tool_call_id=db_text.clean_text(tool_call_id)
    )
    previous_approval = _select_related_rows(unspent_approvals).order_by("-pk").first()
    if previous_approval is not None and _get_digest(previous_approval) in digests:
        _update_formatted_text(previous_approval, content)
        return previous_approval
    if previous_approval is not None:
        _discard(previous_approval)
    approval = Approval.objects.create(
        conversation_id=conversation_id,
        workspace_id=run.conversation.workspace_id,
        run=run,
        kind=kind,
        tool_call_id=db_text.clean_text(tool_call_id),
        tool_name=db_text.clean_text(tool_name)[:200],
        subject=content,
        digest=digests[0],
    )
    return get_approval(approval.pk)


def is_edited(decision: Mapping[str, Any]) -> bool:
    """Tell whether a person edited the arguments or the result that they decided about."""
    return any(key in decision for key in _EDIT_KEYS)


def mark_spent(approval_id: int) -> None:
    """Mark a decision as used by its call: another execution of the call asks again."""
    Approval.objects.filter(pk=approval_id).update(was_applied=True)


def spend_decisions(run_id: int, tool_call_id: str) -> None:
    """Mark the decisions of an ended call as used, whether it went on with them or not.

    A vendor may give a later call the same id: a person is asked about that one too.
    """
    compiled_write.update_rows(
        Approval,
        {
            "run_id": run_id,
            "tool_call_id": db_text.clean_text(tool_call_id),
            "state": ApprovalState.DECIDED,
            "was_applied": False,
        },
        was_applied=True,
    )


def list_pending_calls(run: Run) -> frozenset[str]:
    """Return the ids of the calls with an unspent approval to run, open or decided."""
    unspent_approvals = _list_unspent(run).filter(kind=ApprovalKind.RUN)
    return frozenset(unspent_approvals.values_list("tool_call_id", flat=True))


def list_decided_calls(run: Run) -> frozenset[str]:
    """Return the ids of the calls with an unspent decision, also of those that have ended."""
    decided_approvals = _list_unspent(run).filter(state=ApprovalState.DECIDED)
    return frozenset(decided_approvals.values_list("tool_call_id", flat=True))


def get_turn_permissions(run: Run) -> dict[tuple[str, str], bool]:
    """Return the decisions for the rest of the turn, whether a tool may run; the last one wins.

    The keys are the tool's name and its definition at the time of the decision.
    """
    return {
        key: (row.decision or {}).get("allow") is True
        for key, row in find_turn_approvals(run).items()
    }


def find_turn_approvals(run: Run) -> dict[tuple[str, str], Approval]:
    """Return the approvals decided for the rest of the turn, by tool and definition."""
    settled_approvals = Approval.objects.filter(
        run=run, kind=ApprovalKind.RUN, state=ApprovalState.DECIDED
    )
    return {
        (row.tool_name, row.subject.get(_DEFINITION_KEY, "")): row
        for row in settled_approvals.order_by("settled_at", "pk")
        if row.decision and row.decision.get("remember") is True
    }


def get_approval(approval_id: int) -> Approval:
    """Return an approval with its conversation. Raises UnknownApproval."""
    row = _select_related_rows(Approval.objects.filter(pk=approval_id)).first()
    if row is None:
        raise UnknownApproval("Approval not found.")
    return row


def find_open_for_call(
    conversation_id: int, kind: ApprovalKind, tool_call_id: str
) -> Approval | None:
    """Return the open approval of a tool call, or None."""
    open_rows = Approval.objects.filter(
        conversation_id=conversation_id,
        kind=kind,
        tool_call_id=db_text.clean_text(tool_call_id),
        state=ApprovalState.OPEN,
    )
    return _select_related_rows(open_rows).order_by("-pk").first()


def list_open_for(*person_ids: int) -> QuerySet[Approval]:
    """Return the open approvals of unfinished runs that these people may decide, oldest first."""
    return _select_related_rows(filter_open_approvals(*person_ids)).order_by("asked_at", "id")


def count_waiting(
    person_id: int, conversation_id: int | None = None, limit: int | None = COUNT_LIMIT
) -> int:
    """Return the number of open questions and approvals of a person, up to ``limit``; one query."""
    if conversation_id is None and limit == COUNT_LIMIT:  # in the head of every page
        return len(_waiting_count_query([person_id]))
    scope = {} if conversation_id is None else {"conversation_id": conversation_id}
    return _list_waiting_keys([person_id], **scope)[:limit].count()


def count_all_waiting(
    listed_rows: Sequence[Inquiry | Approval], person_id: int, conversation_id: int
) -> int:
    """Return how many wait for a person in a conversation; ``list_waiting`` listed the first.

    No query where it listed all of them.
    """
    if len(listed_rows) < MAX_INBOX_CARDS:
        return len(listed_rows)
    return count_waiting(person_id, conversation_id, limit=None)


def count_waiting_by_workspace(person_id: int) -> dict[int, int]:
    """Return the number of a person's open questions and approvals in each workspace with some."""
    counts: Counter[int] = Counter()
    for waiting_rows in (_list_questions(person_id), filter_open_approvals(person_id)):
        groups = waiting_rows.order_by().values("workspace_id").annotate(n=Count("pk"))
        counts.update({row["workspace_id"]: row["n"] for row in groups})
    return counts


def list_waiting(person_id: int, **scope: int) -> list[Inquiry | Approval]:
    """Return the oldest open questions and approvals of a person, in the order of asking.

    Questions that the person snoozed are left out.

    ``scope`` is a ``conversation_id`` or a ``workspace_id``; without one there are all.
    """
    rows: list[Inquiry | Approval]
    if scope.keys() == {"conversation_id"}:  # in the page of every conversation
        keys = [person_id], [scope["conversation_id"]]
        rows = [*_conversation_questions_query(*keys), *_conversation_approvals_query(*keys)]
    else:
        questions, approvals = _list_questions(person_id), list_open_for(person_id)
        rows = [
            *questions.filter(**scope)[:MAX_INBOX_CARDS],
            *approvals.filter(**scope)[:MAX_INBOX_CARDS],
        ]
    return sorted(rows, key=lambda row: row.asked_at)[:MAX_INBOX_CARDS]


def is_approval(row: Inquiry | Approval) -> TypeGuard[Approval]:
    """Tell whether a row is an approval, and not a question."""
    return isinstance(row, Approval)


@transaction.atomic
def decide_approval(approval_id: int, decision: Mapping[str, Any], decider: Decider) -> Approval:
    """Decide an approval by compare-and-set, and queue the run that is parked on it.

    Raises UnknownApproval, AlreadyDecided, RoleEnded.
    """
    journal.lock_conversation(get_approval(approval_id).conversation_id)
    open_row = get_approval(approval_id)  # a redaction may have changed it until the lock
    if decider.member_id is not None:
        current_roles.require_current_responder(
            decider.member_id, open_row.conversation.workspace_id
        )
    row = _settle_open(
        open_row,
        state=ApprovalState.DECIDED,
        digest=_get_digest(open_row),
        decision=dict(decision),
        decider_id=decider.person_id,
        decider_name=db_text.clean_text(decider.name)[:200],
    )
    _record(Act.APPROVAL_DECIDED, Actor.from_decider(decider), row, **_describe_decision(decision))
    is_requeued = row.run is not None and leases.requeue_parked(row.run.pk)
    return get_approval(approval_id) if is_requeued else row


@transaction.atomic
def withdraw_approval(approval_id: int) -> Approval:
    """Close an open approval. Raises UnknownApproval, AlreadyDecided."""
    row = _settle_open(get_approval(approval_id), state=ApprovalState.WITHDRAWN)
    _record(Act.APPROVAL_WITHDRAWN, SYSTEM, row)
    return row


def withdraw_all(run: Run) -> int:
    """Close the open approvals of a run; returns how many."""
    open_ids = Approval.objects.filter(run=run, state=ApprovalState.OPEN).values_list(
        "pk", flat=True
    )
    closed_count = 0
    for key in list(open_ids):
        try:
            withdraw_approval(key)
        except AlreadyDecided:
            continue  # a concurrent decision came first, and counts
        closed_count += 1
    return closed_count


def _list_unspent(run: Run) -> QuerySet[Approval]:
    """Return the approvals of a run that are open, or decided and not used."""
    unspent_states = (ApprovalState.OPEN, ApprovalState.DECIDED)
    return Approval.objects.filter(run=run, state__in=unspent_states, was_applied=False)


def _discard(row: Approval) -> None:
    if row.state == ApprovalState.OPEN:
        withdraw_approval(row.pk)
    else:
        mark_spent(row.pk)


def _omit_formatted_text(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content that a decision holds for: the call that runs, or the result that is sent.

    Each process formats again, and the text may hold times or come too late (None).
    """
    return {key: None if key == _FORMATTED_KEY else value for key, value in content.items()}


def _get_digest(row: Approval) -> str:
    """Return the digest of the content that a decision about an open approval holds for.

    An earlier jpweb hashed the formatter's text, too. Its digest is told by that of the subject,
    until the row is settled: then the subject has neither text nor arguments.
    """
    if row.digest == _hash_content(row.subject):
        return _hash_content(_omit_formatted_text(row.subject))
    return row.digest


def _update_formatted_text(row: Approval, content: Mapping[str, Any]) -> None:
    """Show the newest text of the formatter while the approval is open.

    Where the formatter is late now, the earlier text stays: it is of the same arguments.
    """
    if content.get(_FORMATTED_KEY) is None and _FORMATTED_KEY in row.subject:
        content = {**content, _FORMATTED_KEY: row.subject[_FORMATTED_KEY]}
    if row.state == ApprovalState.OPEN and row.subject != content:
        row.digest, row.subject = _get_digest(row), content
        open_row = Approval.objects.filter(pk=row.pk, state=ApprovalState.OPEN)
        open_row.update(digest=row.digest, subject=content)


def _hash_content(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(content), sort_keys=True).encode()).hexdigest()


def _settle_open(row: Approval, **values: Any) -> Approval:
    open_row = Approval.objects.filter(pk=row.pk, state=ApprovalState.OPEN)
    values |= {"subject": _pick_retained_content(row), "settled_at": clock.now()}
    if not open_row.update(**values):
        raise AlreadyDecided(get_approval(row.pk))
    return get_approval(row.pk)


def _record(act: Act, actor: Actor, row: Approval, **details: Any) -> None:
    place = Place(row.workspace_id, row.conversation_id, f"approval:{row.pk}")
    details |= {"kind": row.kind, "tool": row.tool_name, "digest": row.digest}
    record_act(act, actor, place, asked_at=row.asked_at.isoformat(), **details)


def _describe_decision(decision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a decision for the ledger: edited arguments and results by their hash."""
    flags = {key: value for key, value in decision.items() if isinstance(value, bool)}
    contents = {key: value for key, value in decision.items() if key not in flags and value}
    return flags | {"edited": _hash_content(contents) if contents else ""}


def _pick_retained_content(row: Approval) -> dict[str, Any]:
    """Return the content that a settled approval keeps: not a result that may be withheld.

    Arguments are in the journal with the call; a delivered result is there too.
    """
    return {key: row.subject[key] for key in _RETAINED_KEYS if key in row.subject}


def _list_waiting_keys(person_ids: Sequence[int], **scope: int) -> QuerySet[Inquiry, tuple[int]]:
    """Return the keys of the open questions and approvals of these people, unordered."""
    questions = _list_questions(*person_ids).filter(**scope).order_by().values_list("pk")
    return questions.union(
        filter_open_approvals(*person_ids).filter(**scope).values_list("pk"), all=True
    )


def _list_questions(*person_ids: int) -> QuerySet[Inquiry]:
    """Return the open questions that these people may answer and did not snooze."""
    return list_open(*person_ids).filter(~is_snoozed(person_ids))


#: The ORM takes 3.4 ms longer, for the menu of every page.
_waiting_count_query = CompiledQuery(
    lambda person_ids: _list_waiting_keys(person_ids)[:COUNT_LIMIT]
)


#: The ORM takes 3 to 4 ms longer for each of these two, for each page of a conversation.
_conversation_questions_query = CompiledQuery(
    lambda person_ids, conversation_ids: list_open_in(conversation_ids, person_ids).filter(
        ~is_snoozed(person_ids)
    )[:MAX_INBOX_CARDS]
)


_conversation_approvals_query = CompiledQuery(
    lambda person_ids, conversation_ids: list_open_for(*person_ids).filter(
        conversation_id__in=conversation_ids
    )[:MAX_INBOX_CARDS]
)


def _select_related_rows(approvals: QuerySet[Approval]) -> QuerySet[Approval]:
    return approvals.select_related("conversation__workspace", "run", "decider")
