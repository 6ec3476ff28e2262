"""What kinds of events a page shows, and an account of what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from jpweb.store.browsing import windows
from jpweb.stream.layout.facets import GROUPS, PROBLEMS
from jpweb.web import words
from jpweb.web.transcript import CHOICES, Choice

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: What people often want to see alone: a word, the groups, and the facets that it counts.
PRESETS = {
    "Messages": (("person", "assistant"), ("person", "message", "structure")),
    "Questions": (("questions",), ("question",)),
    "Problems": (("problems",), PROBLEMS),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A group of facets: how many entries there are of it, how many are left out, its addresses."""

    name: str
    word: str
    count: int
    left_out: int
    choice: Choice

    @property
    def chosen(self) -> bool:
        """Whether it is among what is chosen."""
        return self.name in self.choice.show

    @property
    def query(self) -> str:
        """The address that differs in whether it is chosen."""
        show = self.choice.show
        others = [each for each in CHOICES if (each in show) != (each == self.name)]
        return replace(self.choice, show=tuple(others)).kept()

    @property
    def only(self) -> str:
        """The address that chooses it alone."""
        return replace(self.choice, show=(self.name,)).kept()


@dataclass(frozen=True, slots=True)
class Preset:
    """A word for some groups, how many there are of what it names, its address."""

    word: str
    count: int
    chosen: bool
    query: str


@dataclass(frozen=True, slots=True)
class Account:
    """What of a conversation is shown, in entries.

    ``shown``, what the groups of ``GROUPS`` leave out, and ``marks``, the beginnings of turns that
    are left out, add up to its length.
    """

    kinds: list[Kind]
    shown: int
    marks: int

    @property
    def left_out(self) -> list[Kind]:
        """The groups of which something is left out."""
        return [kind for kind in self.kinds if kind.name in GROUPS and kind.left_out]


def context(found: Conversation, choice: Choice) -> dict[str, Any]:
    """Return what the template of the kinds needs."""
    return {
        "conversation": found,
        "here": reverse("conversation", args=[found.pk]),
        "choice": choice,
        "account": account(found, choice),
        "presets": presets(found, choice),
    }


def account(found: Conversation, choice: Choice) -> Account:
    """Return what of a conversation an address shows, and what it leaves out."""
    facets = choice.facets
    shown = found.accounts if facets is None else windows.count(found.pk, facets)
    made: list[Kind] = []
    for name, own in CHOICES.items():
        count, there = _sum(found.accounts, own), _sum(shown, own)
        made.append(Kind(name, words.GROUPS[name], count, count - there, choice))
    marks = found.accounts.get("turn", 0) - shown.get("turn", 0)
    return Account(made, sum(shown.values()), marks)


def presets(found: Conversation, choice: Choice) -> list[Preset]:
    """Return the presets of which there is something, and the one that is chosen."""
    made = [
        Preset(
            word,
            _sum(found.accounts, counted),
            choice.show == groups,
            replace(choice, show=groups).kept(),
        )
        for word, (groups, counted) in PRESETS.items()
    ]
    return [each for each in made if each.count or each.chosen]


def _sum(counts: Mapping[str, int], facets: Iterable[str]) -> int:
    return sum(counts.get(facet, 0) for facet in facets)
