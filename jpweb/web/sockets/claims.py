"""What a page says over its socket: what it shows, what was seen of cards, and answers.

Nothing of it is believed: keys lead to rows, and who may do what is asked of the database.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jpweb.runtime import showing
from jpweb.web import numbers
from jpweb.web.cards import Cards
from jpweb.web.changes import Shown
from jpweb.web.transcript import WORDS, groups

#: Cards that a page may name: five times what the fullest desk shows (``standing.DESK``).
MAX_CARDS = 500
#: What a page may say at once that it saw of cards: everything of each.
MAX_SEEN = MAX_CARDS * len(showing.KINDS)
#: Characters of a run's or the facts' key that a page repeats.
MAX_KEY_LENGTH = 100
#: What is raised by reading what no page of ours says.
MALFORMED = (ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What a page says that it shows. Each is another one, even if it says the same."""

    person: int
    conversation: int | None
    shown: Cards | None


@dataclass(frozen=True, slots=True)
class Sent:
    """The form of a card, sent over the socket; ``number`` is what its reply is known by.

    ``person`` is whose page it says to be, as in ``Hello``.
    """

    person: int | None
    number: int
    question: int
    answer: str
    remember: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of cards on a screen."""

    cards: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Hello:
    """What a page shows, of its conversation and else; whose page it says to be."""

    person: int | None
    word: Word
    page: Shown
    #: How many cards it names.
    cards: int


#: Everything that a page says.
Message = Hello | Seen | Sent


def read(person: int, text: str) -> Message:
    """Read what a person's page says. Raises one of ``MALFORMED``."""
    says: dict[str, Any] = json.loads(text)
    if "seen" in says:
        return Seen(_seen(says["seen"]))
    if "answer" in says:
        return _sent(says)
    shown = Cards(_keys(says.get("shown")), _keys(says.get("prompts")))
    named = len(shown.questions) + len(shown.prompts)
    if named > MAX_CARDS:
        raise ValueError(named)
    return Hello(_whose(says), _word(person, says, shown), _page(says), named)


def _whose(says: dict[str, Any]) -> int | None:
    return None if says.get("person") is None else _whole(says["person"])


def _page(says: dict[str, Any]) -> Shown:
    return Shown(
        _whole(says.get("length") or 0),
        _whole(says.get("revision") or 0),
        str(says.get("run") or "")[:MAX_KEY_LENGTH],
        str(says.get("facts") or "")[:MAX_KEY_LENGTH],
        min(max(int(says.get("first") or 0), 0), numbers.KEY),
        None if says.get("last") is None else _whole(says["last"]),
        groups(str(says.get("show") or "")),
        str(says.get("words") or "")[:WORDS],
    )


def _word(person: int, says: dict[str, Any], shown: Cards) -> Word:
    conversation = says.get("conversation")
    return Word(
        person,
        None if conversation is None else _whole(conversation),
        shown if says.get("desk") else None,
    )


def _seen(pairs: list[Any]) -> list[tuple[int, str]]:
    if len(pairs) > MAX_SEEN:
        raise ValueError(len(pairs))
    known = [(_whole(key), what) for key, what in pairs]
    if unknown := {what for _, what in known} - showing.KINDS:
        raise ValueError(unknown)
    return known


def _sent(says: dict[str, Any]) -> Sent:
    number, question, answer = says["number"], says["question"], str(says["answer"])
    answer.encode()  # no half of a surrogate pair: a browser's forms hold none
    remember = bool(says.get("remember"))
    return Sent(_whose(says), _whole(number), _whole(question), answer, remember)


def _keys(values: Any) -> frozenset[int]:
    return frozenset(_whole(key) for key in values or [])


def _whole(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= numbers.KEY:
        raise ValueError(number)
    return number
