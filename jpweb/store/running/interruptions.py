"""What people say to a run that is being executed, until the turn has taken it."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils import timezone

from jpweb.store import plain
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


def waiting(run_ids: Iterable[int]) -> list[Interruption]:
    """Return what was said to these runs and not taken, in the order in which it was said."""
    found = Interruption.objects.filter(
        run_id__in=list(run_ids), taken_at=None, run__state=RunState.RUNNING
    )
    return list(found.order_by("id"))


def words(run: Run, told: Iterable[int]) -> bool:
    """Tell whether somebody said something in words that the turn was not told of."""
    found = Interruption.objects.filter(run=run, taken_at=None, kind=InterruptKind.RESPOND)
    return found.exclude(pk__in=list(told)).exists()


def told(said: Interruption) -> None:
    """Note that the turn runs its calls again; a stop, and words, stand until it acts on them."""
    if said.kind == InterruptKind.RESTART:
        Interruption.objects.filter(pk=said.pk).update(taken_at=timezone.now())
