"""What people say to a run that is being executed, until the turn has taken it."""

from __future__ import annotations

from collections.abc import Iterable

from jpweb.store import plain
from jpweb.store.database import clock
from jpweb.store.inquiries import Decider
from jpweb.store.models import Interruption, Run
from jpweb.store.terms import InterruptKind, RunState


def say(run: Run, kind: InterruptKind, by: Decider, text: str = "") -> Interruption:
    """Put down what somebody says to a run."""
    return Interruption.objects.create(
        run=run,
        kind=kind,
        text=plain.text(text),
        person_id=by.person_id,
        person_name=plain.text(by.name)[:200],
    )


def waiting(runs: Iterable[Run]) -> list[Interruption]:
    """Return what was said to runs and not taken, in the order in which it was said.

    A run that another process holds by now has nothing to say to this one.
    """
    fences = {run.pk: run.fence for run in runs}
    found = Interruption.objects.filter(
        run_id__in=list(fences), taken_at=None, run__state=RunState.RUNNING
    ).select_related("run")
    return [said for said in found.order_by("id") if said.run.fence == fences[said.run_id]]


def words(run: Run, told: Iterable[int] = ()) -> list[Interruption]:
    """Return what somebody said in words that the turn was not ``told`` of."""
    found = Interruption.objects.filter(run=run, taken_at=None, kind=InterruptKind.RESPOND)
    return list(found.exclude(text="").exclude(pk__in=list(told)).order_by("id"))


def told(said: Interruption) -> None:
    """Note that the turn acts on it; a stop, and words, stand until that is on record."""
    if said.kind == InterruptKind.RESTART or (said.kind == InterruptKind.RESPOND and not said.text):
        taken([said.pk])


def taken(keys: Iterable[int]) -> None:
    """Note that these are acted on."""
    left = Interruption.objects.filter(pk__in=list(keys), taken_at=None)
    left.update(taken_at=clock.now())
