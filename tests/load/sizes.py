"""How much the benchmarks measure: the full size, and a toy size that shows that they run."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Size:
    """Amounts of one run of benchmarks; the defaults are the full size."""

    #: Most rounds of any benchmark, and rounds before them that do not count.
    max_rounds: int = 1000
    warm_up_rounds: int = 1
    #: Milliseconds that a server gets to become idle before it is measured.
    settle_ms: int = 2000

    #: Characters of Markdown that are rendered in one round.
    rendered_characters: int = 500_000
    #: Conversations of ``import.million`` and ``import.memory``, and events of each.
    mirrored_conversations: int = 1000
    mirrored_events: int = 1000

    #: Entries that one round of ``ledger.append`` inserts.
    ledger_entries: int = 500

    #: WebSockets that one change is sent to, and WebSockets that stay idle.
    told_sockets: int = 5000
    idle_sockets: int = 2000

    #: Pages open in other browsers, each with an open question, and the workspaces they are in.
    other_pages: int = 1000
    other_workspaces: int = 50
    #: Conversations that ask, and turns of each; every turn asks once. Of 300 rounds the p99 is the
    #: fourth slowest, which a single stall of the disk decides.
    asking_conversations: int = 50
    asking_turns: int = 20

    #: Parked runs, and the workspaces they are in; 1 puts them beside the one that is measured.
    parked_runs: int = 100_000
    parked_workspaces: int = 1000

    #: Events of the conversation whose page is opened.
    opened_events: int = 100_000
    #: Conversations in the list.
    listed_conversations: int = 1_000_000
    #: Inquiries in the audit table.
    audited_inquiries: int = 1_000_000
    #: Filters and orders of it that are measured.
    audit_operations: int = 21
    #: Passages that are searched, and queries of each kind.
    passages: int = 1_000_000
    queries_per_kind: int = 31
    #: Events of the conversation, and conversations, behind the rows ``page.*``.
    page_events: int = 10_000
    page_conversations: int = 1000
    #: Inquiries that one person downloads, and cards that each of their hellos names.
    reviewed_inquiries: int = 300_000
    named_cards: int = 20_000

    def limit_rounds(self, rounds: int) -> int:
        """Return ``rounds``, or the most that this size has."""
        return min(rounds, self.max_rounds)

    def change(self, assignments: list[str]) -> Self:
        """Return this size with assignments such as ``told_sockets=100`` applied.

        Raises ValueError with a message for an unknown name or an amount below 1.
        """
        names = [field.name for field in fields(self)]
        amounts: dict[str, int] = {}
        for assignment in assignments:
            name, _, amount = assignment.partition("=")
            if name not in names:
                raise ValueError(f"No size is called {name!r}; there are: {', '.join(names)}")
            if not amount.isdecimal() or int(amount) < 1:
                raise ValueError(f"The size {name} needs a whole number from 1: {name}=100")
            amounts[name] = int(amount)
        return replace(self, **amounts)


FULL = Size()
TOY = Size(
    max_rounds=1,
    warm_up_rounds=0,
    settle_ms=100,
    rendered_characters=10_000,
    mirrored_conversations=2,
    mirrored_events=40,
    ledger_entries=20,
    told_sockets=10,
    idle_sockets=20,
    other_pages=4,
    other_workspaces=2,
    asking_conversations=1,
    asking_turns=2,
    parked_runs=20,
    parked_workspaces=2,
    opened_events=300,
    listed_conversations=1500,
    audited_inquiries=1500,
    audit_operations=2,
    passages=2000,
    queries_per_kind=2,
    page_events=300,
    page_conversations=100,
    reviewed_inquiries=1000,
    named_cards=50,
)
