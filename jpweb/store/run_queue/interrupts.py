"""Interrupts that people send to a run, until the turn has handled them."""

from __future__ import annotations

from collections.abc import Iterable

from jpweb.store import db_text
from jpweb.store.choices import InterruptKind, RunState
from jpweb.store.database import clock
from jpweb.store.inquiries import Decider
from jpweb.store.models import Run, RunInterrupt


def add_interrupt(run: Run, kind: InterruptKind, decider: Decider, text: str = "") -> RunInterrupt:
    """Insert an interrupt of a run."""
    return RunInterrupt.objects.create(
        run=run,
        kind=kind,
        text=db_text.clean_text(text),
        person_id=decider.person_id,
        person_name=db_text.clean_text(decider.name)[:200],
    )


def list_pending(runs: Iterable[Run]) -> list[RunInterrupt]:
    """Return the unhandled interrupts of these runs, in the order of sending.

    A run that another process holds has none for this one.
    """
    fences = {run.pk: run.fence for run in runs}
    pending_rows = RunInterrupt.objects.filter(
        run_id__in=list(fences), handled_at=None, run__state=RunState.RUNNING
    ).select_related("run")
    return [
        interrupt
        for interrupt in pending_rows.order_by("id")
        if interrupt.run.fence == fences[interrupt.run_id]
    ]


def list_replies(run: Run) -> list[RunInterrupt]:
    """Return the interrupts whose text no event holds yet, in the order of sending."""
    replies = RunInterrupt.objects.filter(run=run, handled_at=None, kind=InterruptKind.RESPOND)
    return list(replies.exclude(text="").order_by("id"))


def mark_handled(interrupt_ids: Iterable[int]) -> None:
    """Mark interrupts as handled."""
    unhandled_rows = RunInterrupt.objects.filter(pk__in=list(interrupt_ids), handled_at=None)
    unhandled_rows.update(handled_at=clock.now())
