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

#: How many keys a page may name.
KEYS = 10_000
#: Characters that a page says at once.
LONGEST = 1024 * 1024
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


def read(person: int, text: str) -> Hello | Seen | Sent:
    """Read what a person's page says. Raises one of ``MALFORMED``."""
    if len(text) > LONGEST:
        raise ValueError(len(text))
    says: dict[str, Any] = json.loads(text)
    if "seen" in says:
        return Seen(_seen(says["seen"]))
    if "answer" in says:
        return _sent(says)
    return Hello(_whose(says), _word(person, says), _page(says))


def _whose(says: dict[str, Any]) -> int | None:
    return None if says.get("person") is None else _whole(says["person"])


def _page(says: dict[str, Any]) -> Shown:
    return Shown(
        _whole(says.get("length") or 0),
        _whole(says.get("revision") or 0),
        str(says.get("run") or ""),
        str(says.get("facts") or ""),
        max(int(says.get("first") or 0), 0),
        None if says.get("last") is None else _whole(says["last"]),
        groups(str(says.get("show") or "")),
        str(says.get("words") or "")[:WORDS],
    )


def _word(person: int, says: dict[str, Any]) -> Word:
    conversation = says.get("conversation")
    shown = Cards(_keys(says.get("shown")), _keys(says.get("prompts")))
    return Word(
        person,
        None if conversation is None else _whole(conversation),
        shown if says.get("desk") else None,
    )


def _seen(pairs: list[Any]) -> list[tuple[int, str]]:
    if len(pairs) > KEYS:
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
    keys = frozenset(_whole(key) for key in values or [])
    if len(keys) > KEYS:
        raise ValueError(len(keys))
    return keys


def _whole(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= numbers.KEY:
        raise ValueError(number)
    return number
