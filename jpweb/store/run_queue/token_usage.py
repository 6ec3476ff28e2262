"""The tokens of runs as the providers of their models reported them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Subquery, Sum

from jpweb.store.models import Conversation, Run

_COUNT_NAMES = (
    "request_count",
    "reported_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)


class UsageReport(NamedTuple):
    """The tokens of one request to a model; None where the provider did not report them."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class TokenSums(NamedTuple):
    """Sums over requests; their tokens are those of the reported ones alone."""

    request_count: int = 0
    reported_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def missing_count(self) -> int:
        """The number of requests whose tokens are on no record."""
        return self.request_count - self.reported_count


def assign_turn(run: Run) -> None:
    """Note which turn a new run executes: the last one of its conversation."""
    turns = Conversation.objects.filter(pk=OuterRef("conversation_id"), turns__gt=0)
    last_turn = Subquery(turns.annotate(last_turn=F("turns") - 1).values("last_turn"))
    Run.objects.filter(pk=run.pk).update(turn_number=last_turn)


def add_report(run: Run, report: UsageReport) -> None:
    """Add the tokens of a request to its run, in the transaction of its holder's write."""
    amounts = {"request_count": 1}
    if report.input_tokens is not None and report.output_tokens is not None:
        amounts |= {"reported_count": 1, **report._asdict()}
    held_run = Run.objects.filter(pk=run.pk, fence=run.fence)
    held_run.update(**{name: F(name) + amount for name, amount in amounts.items()})


def sum_tokens_by_turn(
    conversation_id: int, first_number: int, last_number: int
) -> dict[int, TokenSums]:
    """Return the sums of turns by their numbers, without turns of no request."""
    rows: Iterable[Any] = (
        Run.objects.filter(
            conversation_id=conversation_id,
            turn_number__range=(first_number, last_number),
            request_count__gt=0,
        )
        .order_by()
        .values("turn_number")
        .annotate(**{f"sum_{name}": Sum(name) for name in _COUNT_NAMES})
    )
    return {
        row["turn_number"]: TokenSums(*(row[f"sum_{name}"] for name in _COUNT_NAMES))
        for row in rows
    }
