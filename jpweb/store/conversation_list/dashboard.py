"""Sections of the start page: open questions and approvals, runs, unread conversations.

Runs and new conversations are selected from the ``RECENT_CONVERSATIONS`` newest readable
ones, so that the cost does not grow with the number of conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, OuterRef, Subquery

from jpweb.store.choices import Role, RunState
from jpweb.store.conversation_list import orderings, paginator
from jpweb.store.conversation_list.filters import ListFilters
from jpweb.store.conversation_list.paginator import ConversationRow
from jpweb.store.database import clock
from jpweb.store.inbox import queue
from jpweb.store.models import Approval, Inquiry, ReadMark, Run
from jpweb.store.sql.keyset_merge import find_nearest

#: Rows of a section; newest conversations, and newest read marks, that sections select from.
MAX_SECTION_ROWS, RECENT_CONVERSATIONS, READ_CONVERSATIONS = 5, 300, 500
#: Failed runs that ended longer ago are left out.
FAILED_RUN_AGE = timedelta(days=7)
_ACTIVE_STATES = (RunState.RUNNING, RunState.QUEUED)
_FAILED_STATES = (RunState.FAILED, RunState.LOST)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Sections of a person's start page; ``newest`` leaves out unread and pinned conversations."""

    waiting: list[Inquiry | Approval]
    active_runs: list[Run]
    failed_runs: list[Run]
    unread: list[ConversationRow]
    pinned: list[ConversationRow]
    newest: list[ConversationRow]

    @property
    def has_content(self) -> bool:
        """Whether any section has a row."""
        return bool(self.waiting or self.unread or self.pinned or self.newest)


def get_dashboard(person_id: int) -> Dashboard:
    """Return the sections of a person's start page; the number of queries is fixed."""
    workspace_ids = paginator.list_workspace_ids(person_id)
    recent_ids = _list_recent(workspace_ids)
    runs = _list_runs(recent_ids)
    unread_ids, pinned_ids = (
        _list_unread(person_id, workspace_ids),
        paginator.list_pinned(workspace_ids, limit=MAX_SECTION_ROWS),
    )
    newest_ids = [key for key in recent_ids if key not in {*unread_ids, *pinned_ids}][
        :MAX_SECTION_ROWS
    ]
    rows = {
        row.conversation.pk: row
        for row in paginator.load_rows(person_id, [*unread_ids, *pinned_ids, *newest_ids])
    }
    return Dashboard(
        list_longest_waiting(person_id),
        [run for run in runs if run.state in _ACTIVE_STATES][:MAX_SECTION_ROWS],
        [run for run in runs if run.state in _FAILED_STATES][:MAX_SECTION_ROWS],
        *(
            [rows[key] for key in keys if key in rows]
            for keys in (unread_ids, pinned_ids, newest_ids)
        ),
    )


def list_longest_waiting(person_id: int) -> list[Inquiry | Approval]:
    """Return the longest waiting questions and approvals of a person's queue."""
    ranked_keys = find_nearest(
        orderings.open_row_ranges(person_id),
        paginator.list_workspace_ids(person_id, Role.RESPONDER),
        None,
        MAX_SECTION_ROWS,
        is_backward=False,
    ).ranked_keys
    ranks = [divmod(ranked_key.key.rank, 2) for ranked_key in ranked_keys]
    questions = queue.load_questions([key for key, prompt in ranks if not prompt])
    approvals = queue.load_approvals([key for key, prompt in ranks if prompt])
    rows = ((approvals if prompt else questions).get(key) for key, prompt in ranks)
    return [row for row in rows if row is not None]


def _list_recent(workspace_ids: Sequence[int]) -> list[int]:
    """Return the conversations with the latest activity."""
    page = find_nearest(
        orderings.build_ranges(ListFilters()),
        workspace_ids,
        None,
        RECENT_CONVERSATIONS,
        is_backward=False,
    )
    return [ranked_key.conversation_id for ranked_key in page.ranked_keys]


def _list_runs(conversation_ids: Sequence[int]) -> list[Run]:
    """Return the newest runs of conversations that are active or failed recently; newest first."""
    last_runs = Run.objects.filter(conversation_id=OuterRef("conversation_id")).order_by("-id")
    runs = Run.objects.filter(
        conversation_id__in=conversation_ids,
        pk=Subquery(last_runs.values("pk")[:1]),
        state__in=(*_ACTIVE_STATES, *_FAILED_STATES),
    ).exclude(ended_at__lt=clock.now() - FAILED_RUN_AGE)
    return list(
        runs.select_related("conversation__workspace").order_by("-id")[: 2 * RECENT_CONVERSATIONS]
    )


def _list_unread(person_id: int, workspace_ids: Sequence[int]) -> list[int]:
    """Return the conversations that grew since the person read them, newest first."""
    newest_marks = ReadMark.objects.filter(person_id=person_id).order_by("-at")[:READ_CONVERSATIONS]
    unread_marks = ReadMark.objects.filter(
        pk__in=list(newest_marks.values_list("pk", flat=True)),
        conversation__entry_count__gt=F("entry_count"),
    ).filter(conversation__workspace_id__in=workspace_ids)
    sorted_marks = unread_marks.order_by("-conversation__last_activity", "-conversation_id")
    return list(sorted_marks.values_list("conversation_id", flat=True)[:MAX_SECTION_ROWS])
