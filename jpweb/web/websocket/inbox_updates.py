"""Inbox updates: cards of new questions and approvals, and outcomes of settled ones."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from django.template.loader import render_to_string

from jpweb.store import inquiries
from jpweb.store.choices import UNFINISHED_STATES, ApprovalState, Role
from jpweb.store.inbox import claims, previous_answers, queue, snoozes
from jpweb.store.inbox.queue import PendingQueue
from jpweb.store.inbox.snoozes import SnoozedQuestion, SnoozedRow

if TYPE_CHECKING:
    from jpweb.store.inbox.queue import PendingItem
    from jpweb.store.models import Approval, Inquiry


@dataclass(frozen=True, slots=True)
class CardKeys:
    """The keys of open cards: of questions, and of permission and delivery prompts.

    ``claims`` are pairs of a question and its claim that the cards show, ``approval_claims`` those
    of approvals, ``snoozed`` the questions that the page lists as snoozed.
    """

    questions: frozenset[int] = frozenset()
    approvals: frozenset[int] = frozenset()
    claims: frozenset[tuple[int, int]] = frozenset()
    snoozed: frozenset[int] = frozenset()
    approval_claims: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def from_items(cls, items: Iterable[PendingItem]) -> Self:
        """Return the keys of pending items."""
        keys: tuple[set[int], set[int]] = (set(), set())
        for item in items:
            keys[item.is_approval].add(item.key)
        return cls(frozenset(keys[False]), frozenset(keys[True]))

    def has_item(self, item: PendingItem) -> bool:
        """Tell whether the key of a pending item is among them."""
        return item.key in (self.approvals if item.is_approval else self.questions)


@dataclass(frozen=True, slots=True)
class InboxView:
    """The parameters on which a page's inbox update depends.

    ``open_cards`` are the page's open cards, None for a page without an inbox, which shows only
    the count. With ``conversation_id`` the inbox holds only that conversation's cards, with
    ``workspace_id`` only that workspace's. ``snoozed`` are the questions that its person snoozed,
    ``returned`` is the one whose snooze ended last while the page was open.
    """

    answer_workspace_ids: frozenset[int]
    read_workspace_ids: frozenset[int] = frozenset()
    conversation_id: int | None = None
    open_cards: CardKeys | None = None
    workspace_id: int | None = None
    snoozed: frozenset[SnoozedQuestion] = frozenset()
    returned: PendingItem | None = None

    def has_question(self, question: SnoozedQuestion) -> bool:
        """Tell whether a snoozed question belongs to the scope of the inbox."""
        return (
            question.workspace_id in self.answer_workspace_ids
            and self.conversation_id in (None, question.conversation_id)
            and self.workspace_id in (None, question.workspace_id)
        )


@dataclass(frozen=True, slots=True)
class InboxUpdate:
    """HTML fragments for one inbox, and its open cards after they are swapped in."""

    html: str
    cards: CardKeys


@dataclass(frozen=True, slots=True)
class _UpdatePlan:
    """The changes between an inbox's open cards and its pending items."""

    count: int
    newest: PendingItem | None
    #: Pending items of the inbox, which shows the oldest.
    visible_queue: PendingQueue
    open_cards: CardKeys
    pending_cards: CardKeys

    @classmethod
    def for_inbox(cls, inbox: InboxView, queues: _QueueLookup) -> Self:
        workspace_queue = queues.merge_queues(inbox.answer_workspace_ids).exclude_questions(
            {
                question.key
                for question in inbox.snoozed
                if question.workspace_id in inbox.answer_workspace_ids
            }
        )
        count = min(workspace_queue.count, queue.COUNT_LIMIT)
        if inbox.open_cards is None:
            return cls(count, workspace_queue.newest, PendingQueue(), CardKeys(), CardKeys())
        if inbox.conversation_id is not None:
            visible_queue = queues.find_conversation_queue(inbox)
        elif inbox.workspace_id is not None:
            visible_queue = queues.merge_queues(inbox.answer_workspace_ids & {inbox.workspace_id})
        else:
            visible_queue = workspace_queue
        snoozed_keys = frozenset(
            question.key for question in inbox.snoozed if inbox.has_question(question)
        )
        if visible_queue is not workspace_queue:
            visible_queue = visible_queue.exclude_questions(snoozed_keys)
        pending_cards = replace(CardKeys.from_items(visible_queue.oldest), snoozed=snoozed_keys)
        return cls(count, workspace_queue.newest, visible_queue, inbox.open_cards, pending_cards)

    def count_changes(self) -> int:
        """Return the number of added and removed cards."""
        questions = self.pending_cards.questions ^ self.open_cards.questions
        return len(questions) + len(self.pending_cards.approvals ^ self.open_cards.approvals)

    def find_needed_keys(self) -> CardKeys:
        """Return the keys of the rows that rendering the update needs."""
        newest_keys = CardKeys.from_items([self.newest] if self.newest else [])
        return CardKeys(
            (self.pending_cards.questions ^ self.open_cards.questions)
            | newest_keys.questions
            | self.pending_cards.snoozed,
            (self.pending_cards.approvals ^ self.open_cards.approvals) | newest_keys.approvals,
        )


class _QueueLookup:
    """Pending queues of the workspaces and conversations of all inboxes."""

    def __init__(self, inboxes: Collection[InboxView]) -> None:
        self._queues_by_workspace = queue.get_workspace_queues(
            frozenset().union(*(inbox.answer_workspace_ids for inbox in inboxes))
        )
        conversation_ids = {
            inbox.conversation_id or 0 for inbox in inboxes if inbox.open_cards is not None
        }
        self._queues_by_conversation = queue.get_conversation_queues(
            conversation_ids - {0}, self._queues_by_workspace.values()
        )
        self._merged_queues: dict[frozenset[int], PendingQueue] = {}

    def merge_queues(self, workspace_ids: frozenset[int]) -> PendingQueue:
        """Return the merged queue of some workspaces."""
        if workspace_ids not in self._merged_queues:
            queues = (self._queues_by_workspace.get(key) for key in workspace_ids)
            self._merged_queues[workspace_ids] = PendingQueue.merge(
                pending_queue for pending_queue in queues if pending_queue
            )
        return self._merged_queues[workspace_ids]

    def find_conversation_queue(self, inbox: InboxView) -> PendingQueue:
        """Return the queue of an inbox's conversation; empty if its people may not answer there."""
        pending_queue = self._queues_by_conversation.get(inbox.conversation_id or 0, PendingQueue())
        is_answerable = all(
            row.workspace_id in inbox.answer_workspace_ids for row in pending_queue.oldest
        )
        return pending_queue if is_answerable else PendingQueue()


class _RowLookup:
    """Rows of all cards that the inboxes need: one query of questions, one of approvals."""

    def __init__(self, needed_keys: Collection[CardKeys], shown_keys: CardKeys) -> None:
        self.claims = claims.list_claims(shown_keys.questions)
        self.approval_claims = claims.list_approval_claims(shown_keys.approvals)
        self.questions = queue.load_questions(
            frozenset().union(*(card_keys.questions for card_keys in needed_keys))
        )
        self.approvals = queue.load_approvals(
            frozenset().union(*(card_keys.approvals for card_keys in needed_keys))
        )
        previous_answers.attach_previous(
            row for row in self.questions.values() if row.state == inquiries.OPEN_STATE
        )
        for key, row in self.questions.items():
            row.claim = self.claims.get(key)  # type: ignore[attr-defined]  # read by the card
        for key, approval in self.approvals.items():
            approval.claim = self.approval_claims.get(key)  # type: ignore[attr-defined]  # same

    def get_row(self, item: PendingItem | None) -> Inquiry | Approval | None:
        """Return the row of a pending item, None if it was deleted."""
        if item is None:
            return None
        return self.approvals.get(item.key) if item.is_approval else self.questions.get(item.key)


#: Workspaces in which a person may answer, and those in which they may read.
WorkspaceScopes = tuple[frozenset[int], frozenset[int]]
#: Those of a person, and the questions that they snoozed.
PersonScopes = tuple[frozenset[int], frozenset[int], frozenset[SnoozedQuestion]]


def find_inbox_updates(
    pages: Collection[tuple[int, InboxView]], max_changes: float = math.inf
) -> tuple[dict[int, PersonScopes], dict[InboxView, InboxUpdate]]:
    """Return people's workspaces and snoozes, and the updates of the inboxes that have these.

    Inboxes with more than ``max_changes`` changed cards are costly and omitted.
    """
    roles = queue.get_roles({person_id for person_id, _ in pages})
    snoozed_by_person = snoozes.list_keys(roles)
    scopes = {
        person_id: (*find_scopes(person_roles), snoozed_by_person.get(person_id, frozenset()))
        for person_id, person_roles in roles.items()
    }
    inboxes = {
        inbox
        for person_id, inbox in pages
        if scopes[person_id]
        == (inbox.answer_workspace_ids, inbox.read_workspace_ids, inbox.snoozed)
    }
    return scopes, render_inbox_updates(inboxes, max_changes) if inboxes else {}


def find_scopes(roles: Mapping[int, Role]) -> WorkspaceScopes:
    """Return the workspaces in which these roles allow answering, and reading."""
    answer_workspace_ids = frozenset(key for key, role in roles.items() if role >= Role.RESPONDER)
    read_workspace_ids = frozenset(roles)
    return (
        answer_workspace_ids,
        answer_workspace_ids if answer_workspace_ids == read_workspace_ids else read_workspace_ids,
    )


def render_inbox_updates(
    inboxes: Collection[InboxView], max_changes: float = math.inf
) -> dict[InboxView, InboxUpdate]:
    """Return the update of each inbox; the number of queries does not depend on their number.

    Inboxes with more than ``max_changes`` changed cards are omitted.
    """
    queues = _QueueLookup(inboxes)
    all_plans = {inbox: _UpdatePlan.for_inbox(inbox, queues) for inbox in inboxes}
    plans = {
        inbox: plan for inbox, plan in all_plans.items() if plan.count_changes() <= max_changes
    }
    shown_cards = [
        cards for plan in plans.values() for cards in (plan.pending_cards, plan.open_cards)
    ]
    shown_keys = CardKeys(
        frozenset().union(*(cards.questions for cards in shown_cards)),
        frozenset().union(*(cards.approvals for cards in shown_cards)),
    )
    needed_keys = [plan.find_needed_keys() for plan in plans.values()]
    needed_keys += [CardKeys.from_items([row.returned]) for row in plans if row.returned]
    rows = _RowLookup(needed_keys, shown_keys)
    return {inbox: _render_update(inbox, plan, rows) for inbox, plan in plans.items()}


def _render_update(inbox: InboxView, plan: _UpdatePlan, rows: _RowLookup) -> InboxUpdate:
    """Render an inbox's update: the count, new cards, and the outcomes of settled cards.

    An open card that is still pending but beyond the inbox's limit stays.
    """
    parts: list[str] = [_render_count(inbox, plan, rows)]
    if inbox.open_cards is None:
        return InboxUpdate(parts[0], plan.pending_cards)
    parts += _render_new_cards(inbox, plan, rows)
    cards = _render_closed_cards(inbox, plan, rows, parts)
    parts += _render_claims(plan.open_cards, cards, rows)
    if plan.pending_cards.snoozed != plan.open_cards.snoozed:
        parts.append(_render_snoozed(inbox, plan, rows))
    hidden_count = plan.visible_queue.count - len(cards.questions) - len(cards.approvals)
    parts.append(
        render_to_string(
            "questions/_hidden_count.html", {"hidden_count": max(hidden_count, 0), "oob": True}
        )
    )
    return InboxUpdate("".join(parts), cards)


def _render_count(inbox: InboxView, plan: _UpdatePlan, rows: _RowLookup) -> str:
    """Render the count, and the row that notifications name: the newest or the last returned."""
    item, returned_item = plan.newest, inbox.returned
    if returned_item and _is_pending(inbox, rows.get_row(returned_item)):
        item = max(returned_item, item or returned_item)
    context = {"waiting_count": plan.count, "newest": rows.get_row(item), "oob": True}
    return render_to_string("_question_count.html", context | {"newest_at": item and item.asked_at})


def _render_new_cards(inbox: InboxView, plan: _UpdatePlan, rows: _RowLookup) -> list[str]:
    parts: list[str] = []
    for position, item in enumerate(plan.visible_queue.oldest, 1):
        row = None if plan.open_cards.has_item(item) else rows.get_row(item)
        if row is not None:
            context = {
                "row": row,
                "shows_conversation": not inbox.conversation_id,
                "position": position,
                "pending_total": plan.visible_queue.count,
            }
            parts.append(render_to_string("questions/_oob_append.html", context))
    return parts


def _render_closed_cards(
    inbox: InboxView, plan: _UpdatePlan, rows: _RowLookup, parts: list[str]
) -> CardKeys:
    """Append outcomes of settled cards, and removals of snoozed ones; return the open cards."""
    question_keys, approval_keys = (
        set(plan.pending_cards.questions),
        set(plan.pending_cards.approvals),
    )
    for key in sorted(plan.open_cards.questions - plan.pending_cards.questions):
        question = rows.questions.get(key)
        if key in plan.pending_cards.snoozed:
            parts.append(render_to_string("questions/_removed.html", {"key": key}))
        elif _is_pending(inbox, question):
            question_keys.add(key)
        else:
            parts.append(_render_settled(inbox, key, question))
    for key in sorted(plan.open_cards.approvals - plan.pending_cards.approvals):
        approval = rows.approvals.get(key)
        if _is_pending(inbox, approval):
            approval_keys.add(key)
        else:
            parts.append(_render_decided(inbox, key, approval))
    return CardKeys(
        frozenset(question_keys),
        frozenset(approval_keys),
        frozenset((key, rows.claims[key].pk) for key in question_keys if key in rows.claims),
        plan.pending_cards.snoozed,
        frozenset(
            (key, rows.approval_claims[key].pk)
            for key in approval_keys
            if key in rows.approval_claims
        ),
    )


def _render_claims(open_cards: CardKeys, cards: CardKeys, rows: _RowLookup) -> list[str]:
    """Render the claim of each row whose open card shows another claim, or none.

    The page names its open cards; ``cards`` are those that its person may answer. A new card is
    sent with its claim.
    """
    question_keys = {key for key, _ in cards.claims ^ open_cards.claims}
    approval_keys = {key for key, _ in cards.approval_claims ^ open_cards.approval_claims}
    contexts = [
        *(
            ("question", key, rows.claims.get(key))
            for key in sorted(question_keys & open_cards.questions & cards.questions)
        ),
        *(
            ("approval", key, rows.approval_claims.get(key))
            for key in sorted(approval_keys & open_cards.approvals & cards.approvals)
        ),
    ]
    return [
        render_to_string(
            "questions/_claim.html", {"kind": kind, "key": key, "claim": claim, "oob": True}
        )
        for kind, key, claim in contexts
    ]


def _render_snoozed(inbox: InboxView, plan: _UpdatePlan, rows: _RowLookup) -> str:
    """Render the list of snoozed questions, the next to come back first."""
    snoozed_rows = [
        SnoozedRow(rows.questions[snooze.key], snooze.until)
        for snooze in sorted(inbox.snoozed, key=lambda snooze: (snooze.until, snooze.key))
        if snooze.key in plan.pending_cards.snoozed and snooze.key in rows.questions
    ]
    return render_to_string("questions/_snoozed.html", {"snoozed_rows": snoozed_rows, "oob": True})


def _is_pending(inbox: InboxView, row: Inquiry | Approval | None) -> bool:
    """Tell whether a row is open, its run unfinished, and its workspace one of the inbox's."""
    if row is None or row.run is None or row.run.state not in UNFINISHED_STATES:
        return False
    is_answerable = row.conversation.workspace_id in inbox.answer_workspace_ids
    # Inquiries and approvals have the same value for the open state.
    return is_answerable and row.state == ApprovalState.OPEN


def _render_settled(inbox: InboxView, key: int, row: Inquiry | None) -> str:
    """Render the outcome of a question's card; the page names the key, so access is checked."""
    may_read = row is not None and row.conversation.workspace_id in inbox.read_workspace_ids
    if row is None or row.state == inquiries.OPEN_STATE or not may_read:
        return render_to_string("questions/_deleted.html", {"key": key})
    return render_to_string("questions/_settled.html", {"row": row, "oob": True})


def _render_decided(inbox: InboxView, key: int, row: Approval | None) -> str:
    """Render the outcome of an approval's card; as with questions, access is checked."""
    may_decide = row is not None and row.conversation.workspace_id in inbox.answer_workspace_ids
    if row is None or row.state == ApprovalState.OPEN or not may_decide:
        return render_to_string("approvals/_deleted.html", {"key": key})
    return render_to_string("approvals/_settled.html", {"row": row, "oob": True})
