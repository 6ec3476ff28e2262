"""The cards of desks: which came to wait, and what became of those that wait no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from django.template.loader import render_to_string

from jpweb.store import inquiries
from jpweb.store.telling import earlier, standing
from jpweb.store.terms import PromptState

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry, Prompt
    from jpweb.store.telling.standing import Waiting


@dataclass(frozen=True, slots=True)
class Cards:
    """The keys of open cards: of questions, and of permission and delivery prompts."""

    questions: frozenset[int] = frozenset()
    prompts: frozenset[int] = frozenset()

    @classmethod
    def of(cls, waiting: Iterable[Waiting]) -> Self:
        """Return the keys of what waits."""
        keys: tuple[set[int], set[int]] = (set(), set())
        for each in waiting:
            keys[each.prompt].add(each.key)
        return cls(frozenset(keys[False]), frozenset(keys[True]))

    def have(self, each: Waiting) -> bool:
        """Tell whether something that waits is among them."""
        return each.key in (self.prompts if each.prompt else self.questions)


@dataclass(frozen=True, slots=True)
class Desk:
    """What a page is sent of what waits depends on this alone.

    ``shown`` are the page's open cards, None where it has no desk and only counts. On a
    conversation's page only its own are on the desk.
    """

    answers_in: frozenset[int]
    reads_in: frozenset[int] = frozenset()
    conversation: int | None = None
    shown: Cards | None = None


@dataclass(frozen=True, slots=True)
class News:
    """Fragments for one desk, and the cards that are open on it once it has them."""

    html: str
    cards: Cards


@dataclass(frozen=True, slots=True)
class _Plan:
    """What there is to be said to a desk."""

    waiting: int
    newest: Waiting | None
    here: tuple[Waiting, ...]
    shown: Cards
    now: Cards

    @classmethod
    def of(cls, desk: Desk, waiting: Iterable[Waiting]) -> Self:
        theirs = [each for each in waiting if each.workspace_id in desk.answers_in]
        newest = theirs[-1] if theirs else None
        if desk.shown is None:
            return cls(len(theirs), newest, (), Cards(), Cards())
        here = tuple(e for e in theirs if desk.conversation in (None, e.conversation_id))
        return cls(len(theirs), newest, here, desk.shown, Cards.of(here))

    def needs(self) -> Cards:
        """Return the keys of the rows that are needed."""
        newest = Cards.of([self.newest] if self.newest else [])
        return Cards(
            (self.now.questions ^ self.shown.questions) | newest.questions,
            (self.now.prompts ^ self.shown.prompts) | newest.prompts,
        )


class _Rows:
    """What is needed for all desks at once."""

    def __init__(self, needed: Collection[Cards]) -> None:
        self.questions = standing.questions(
            frozenset().union(*(cards.questions for cards in needed))
        )
        self.prompts = standing.prompts(frozenset().union(*(cards.prompts for cards in needed)))
        earlier.attach(row for row in self.questions.values() if row.state == inquiries.OPEN)

    def of(self, each: Waiting | None) -> Inquiry | Prompt | None:
        """Return the row of something that waits, if it is still there."""
        if each is None:
            return None
        return self.prompts.get(each.key) if each.prompt else self.questions.get(each.key)


def news(desks: Collection[Desk]) -> dict[Desk, News]:
    """Return what each desk lacks; as many queries for many desks as for one."""
    workspaces: frozenset[int] = frozenset().union(*(desk.answers_in for desk in desks))
    waiting = standing.waiting(workspaces)
    plans = {desk: _Plan.of(desk, waiting) for desk in desks}
    rows = _Rows([plan.needs() for plan in plans.values()])
    return {desk: News(_html(desk, plan, rows), plan.now) for desk, plan in plans.items()}


def _html(desk: Desk, plan: _Plan, rows: _Rows) -> str:
    """Render what a desk lacks: the count, the cards that came, and what became of the others."""
    count = {"waiting_count": plan.waiting, "newest": rows.of(plan.newest), "oob": True}
    parts: list[str] = [render_to_string("_waiting.html", count)]
    for position, each in enumerate(plan.here, 1):
        row = None if plan.shown.have(each) else rows.of(each)
        if row is not None:
            place = {"position": position, "waiting": len(plan.here)}
            context = {"row": row, "elsewhere": not desk.conversation} | place
            parts.append(render_to_string("questions/_append.html", context))
    settled = sorted(plan.shown.questions - plan.now.questions)
    decided = sorted(plan.shown.prompts - plan.now.prompts)
    parts += [_settled(desk, key, rows.questions.get(key)) for key in settled]
    parts += [_decided(desk, key, rows.prompts.get(key)) for key in decided]
    return "".join(parts)


def _settled(desk: Desk, key: int, row: Inquiry | None) -> str:
    """Render what became of a card. The page names the key, so the row may be anybody's."""
    may_read = row is not None and row.conversation.workspace_id in desk.reads_in
    if row is None or row.state == inquiries.OPEN or not may_read:
        return render_to_string("questions/_gone.html", {"key": key})
    return render_to_string("questions/_settled.html", {"row": row, "oob": True})


def _decided(desk: Desk, key: int, row: Prompt | None) -> str:
    """Render what became of a prompt; as with questions, the row may be anybody's."""
    may_decide = row is not None and row.conversation.workspace_id in desk.answers_in
    if row is None or row.state == PromptState.OPEN or not may_decide:
        return render_to_string("prompts/_gone.html", {"key": key})
    return render_to_string("prompts/_settled.html", {"row": row, "oob": True})
