"""What reaches this process, handed to whoever listens in it.

A signal is a small dictionary: its ``kind``, ``to`` whom where it is for those who look at one
thing, and keys. Who hears it reads the database anew.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

Signal = dict[str, Any]
Handler = Callable[[Signal], None]

#: Said to the handlers of this kind after an outage: signals may have been missed.
LOOK = "look"
#: What is said to those who look at a thing, by how the name of the thing begins.
_CHANGED = {"conversation": "conversation", "workspace": "questions"}


class Listener(Protocol):
    """Somebody who looks at something, such as the socket of a page."""

    def hear(self, signal: Signal) -> None:
        """Note what changed, and return at once."""


_listeners: dict[str, set[Listener]] = {}
_handlers: dict[str, list[Handler]] = {}


def topic(about: str, key: int | str) -> str:
    """Return the name of a thing that can be listened to."""
    return f"{about}-{key}"


def join(about: str, listener: Listener) -> None:
    """Let somebody hear what is told to a topic, until they leave it."""
    _listeners.setdefault(about, set()).add(listener)


def leave(about: str, listener: Listener) -> None:
    """Tell somebody no more; does nothing where nothing is told to them."""
    there = _listeners.get(about, set())
    there.discard(listener)
    if not there:
        _listeners.pop(about, None)


def subscribe(kind: str, handler: Handler) -> Callable[[], None]:
    """Call a function with every signal of a kind that reaches this process; returns the undoing.

    It is called in the event loop and has to return at once.
    """
    _handlers.setdefault(kind, []).append(handler)

    def undo() -> None:
        with suppress(ValueError):
            _handlers[kind].remove(handler)

    return undo


def take(signal: Signal) -> None:
    """Hand a signal to everybody here whom it is for."""
    for listener in list(_listeners.get(signal.get("to", ""), ())):
        listener.hear(signal)
    for handler in list(_handlers.get(signal["kind"], ())):
        handler(signal)


def watched(about: str) -> set[int]:
    """Return the keys of the things of one sort that somebody here looks at."""
    return {int(key) for key in list_keys(about)}


def list_keys(about: str) -> set[str]:
    """Return the keys of the topics of one sort to which somebody here listens, as texts."""
    names = (name.partition("-") for name in _listeners)
    return {key for sort, _, key in names if sort == about}


def changed(about: str, key: int) -> None:
    """Tell those here alone who look at a conversation or a workspace that it has changed."""
    take({"kind": _CHANGED[about], "to": topic(about, key)})


def look() -> None:
    """Make everybody here look again, since signals may have been missed."""
    for about in _CHANGED:
        for key in watched(about):
            changed(about, key)
    take({"kind": LOOK})
