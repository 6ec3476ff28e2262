"""The cards of desks: which came to wait, and what became of those that wait no more."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from django.template.loader import render_to_string

from jpweb.store import inquiries
from jpweb.store.telling import earlier, standing
from jpweb.store.telling.standing import Queue
from jpweb.store.terms import UNFINISHED, PromptState, Role

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

    count: int
    newest: Waiting | None
    #: What waits there, of which the oldest are shown.
    here: Queue
    shown: Cards
    now: Cards

    @classmethod
    def of(cls, desk: Desk, places: _Places) -> Self:
        theirs = places.of(desk.answers_in)
        count = min(theirs.count, standing.COUNTED)
        if desk.shown is None:
            return cls(count, theirs.newest, Queue(), Cards(), Cards())
        here = theirs if desk.conversation is None else places.talk(desk)
        return cls(count, theirs.newest, here, desk.shown, Cards.of(here.oldest))

    def changed(self) -> int:
        """Return how many cards came or went."""
        questions = self.now.questions ^ self.shown.questions
        return len(questions) + len(self.now.prompts ^ self.shown.prompts)

    def needs(self) -> Cards:
        """Return the keys of the rows that are needed."""
        newest = Cards.of([self.newest] if self.newest else [])
        return Cards(
            (self.now.questions ^ self.shown.questions) | newest.questions,
            (self.now.prompts ^ self.shown.prompts) | newest.prompts,
        )


class _Places:
    """What waits in all workspaces and conversations that desks are about."""

    def __init__(self, desks: Collection[Desk]) -> None:
        self._homes = standing.waiting_in(frozenset().union(*(desk.answers_in for desk in desks)))
        talks = {desk.conversation or 0 for desk in desks if desk.shown is not None}
        self._talks = standing.waiting_of(talks - {0}, self._homes.values())
        self._known: dict[frozenset[int], Queue] = {}

    def of(self, workspaces: frozenset[int]) -> Queue:
        """Return what waits in some workspaces."""
        if workspaces not in self._known:
            found = (self._homes.get(key) for key in workspaces)
            self._known[workspaces] = Queue.of(each for each in found if each)
        return self._known[workspaces]

    def talk(self, desk: Desk) -> Queue:
        """Return what waits of a desk's conversation for those who may answer there."""
        found = self._talks.get(desk.conversation or 0, Queue())
        theirs = all(row.workspace_id in desk.answers_in for row in found.oldest)
        return found if theirs else Queue()


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


#: The workspaces in which somebody may answer, and in which they may read.
Places = tuple[frozenset[int], frozenset[int]]


def current(
    pages: Collection[tuple[int, Desk]], most: float = math.inf
) -> tuple[dict[int, Places], dict[Desk, News]]:
    """Return where people may answer and read by now, and what those desks lack that are so.

    Desks of which more than ``most`` cards have changed are costly, and left out.
    """
    roles = standing.roles({person for person, _ in pages})
    places = {person: find_places(mine) for person, mine in roles.items()}
    desks = {desk for person, desk in pages if places[person] == (desk.answers_in, desk.reads_in)}
    return places, news(desks, most) if desks else {}


def find_places(roles: Mapping[int, Role]) -> Places:
    """Return where a person with these roles may answer, and where they may read."""
    answers_in = frozenset(key for key, role in roles.items() if role >= Role.RESPONDER)
    reads_in = frozenset(roles)
    return answers_in, answers_in if answers_in == reads_in else reads_in


def news(desks: Collection[Desk], most: float = math.inf) -> dict[Desk, News]:
    """Return what each desk lacks; as many queries for many desks as for one.

    Desks of which more than ``most`` cards have changed are left out.
    """
    places = _Places(desks)
    every = {desk: _Plan.of(desk, places) for desk in desks}
    plans = {desk: plan for desk, plan in every.items() if plan.changed() <= most}
    rows = _Rows([plan.needs() for plan in plans.values()])
    return {desk: _news(desk, plan, rows) for desk, plan in plans.items()}


def _news(desk: Desk, plan: _Plan, rows: _Rows) -> News:
    """Render what a desk lacks: the count, the cards that came, and what became of the others.

    A card that waits behind too many others by now stays where it is shown.
    """
    count = {"waiting_count": plan.count, "newest": rows.of(plan.newest), "oob": True}
    parts: list[str] = [render_to_string("_waiting.html", count)]
    if desk.shown is None:
        return News(parts[0], plan.now)
    for position, each in enumerate(plan.here.oldest, 1):
        row = None if plan.shown.have(each) else rows.of(each)
        if row is not None:
            place = {"position": position, "waiting": plan.here.count}
            context = {"row": row, "elsewhere": not desk.conversation} | place
            parts.append(render_to_string("questions/_append.html", context))
    stay: tuple[set[int], set[int]] = (set(), set())
    for key in sorted(plan.shown.questions - plan.now.questions):
        question = rows.questions.get(key)
        if _waits(desk, question):
            stay[False].add(key)
        else:
            parts.append(_settled(desk, key, question))
    for key in sorted(plan.shown.prompts - plan.now.prompts):
        prompt = rows.prompts.get(key)
        if _waits(desk, prompt):
            stay[True].add(key)
        else:
            parts.append(_decided(desk, key, prompt))
    cards = Cards(plan.now.questions | stay[False], plan.now.prompts | stay[True])
    more = plan.here.count - len(cards.questions) - len(cards.prompts)
    parts.append(render_to_string("questions/_more.html", {"more": max(more, 0), "oob": True}))
    return News("".join(parts), cards)


def _waits(desk: Desk, row: Inquiry | Prompt | None) -> bool:
    """Tell whether a row waits for those at a desk."""
    if row is None or row.run is None or row.run.state not in UNFINISHED:
        return False
    theirs = row.conversation.workspace_id in desk.answers_in
    # Both kinds are open by the same word.
    return theirs and row.state == PromptState.OPEN


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
