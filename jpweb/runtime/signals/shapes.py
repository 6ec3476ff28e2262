"""Shapes of the signals that processes send one another: whatever else Redis holds is passed over.

Redis is shared, and may hold what another program, another version or an attacker wrote. A handler
takes a signal's fields as they are, so each is checked here, once, before it is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jpweb.runtime.signals import fanout

Check = Callable[[Any], bool]

#: The largest key that a row can have.
MAX_KEY = 2**63 - 1
#: Kinds of text that is being received.
VARIANTS = frozenset({"message", "reasoning", "tool_call"})
#: What a process says to itself, to hear whether the layer carries it.
PULSE = "pulse"


def is_key(value: Any) -> bool:
    """Tell whether a value can be the key of a row."""
    return type(value) is int and 0 < value <= MAX_KEY


def is_text(value: Any) -> bool:
    """Tell whether a value is a text."""
    return isinstance(value, str)


def _is_variant(value: Any) -> bool:
    return isinstance(value, str) and value in VARIANTS


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _is_topic_of_row(about: str) -> Check:
    """Return the check of a topic that ends in the key of a row."""
    before = fanout.topic(about, "")

    def check(value: Any) -> bool:
        if not isinstance(value, str) or not value.startswith(before):
            return False
        key = value.removeprefix(before)
        return key.isascii() and key.isdecimal() and len(key) < len(str(MAX_KEY))

    return check


def _is_session(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(fanout.topic("session", ""))


_CONVERSATION, _WORKSPACE = _is_topic_of_row("conversation"), _is_topic_of_row("workspace")

#: The fields of each kind that other processes send to everybody.
BROADCAST: Mapping[str, Mapping[str, Check]] = {
    "conversation": {"to": _CONVERSATION},
    "questions": {"to": _WORKSPACE},
    "partial": {"to": _CONVERSATION, "variant": _is_variant, "text": is_text},
    "session": {"to": _is_session},
    "run": {"run": is_key},
    "settled": {"inquiry": is_key},
    "decided": {"prompt": is_key},
}
#: The fields of each kind that one process sends to another.
DIRECT: Mapping[str, Mapping[str, Check]] = {
    PULSE: {},
    "secret": {
        "message": is_text,
        "sender": is_text,
        "inquiry": is_key,
        "by": _is_object,
        "sealed": is_text,
    },
    "secret_ack": {"message": is_text, "became": is_text},
}
FIELDS: Mapping[str, Mapping[str, Check]] = {**BROADCAST, **DIRECT}


def fits(signal: Any) -> bool:
    """Tell whether a message has the shape of a signal: its kind and exactly its fields."""
    if not _is_object(signal):
        return False
    kind, origin = signal.get("kind"), signal.get("origin", "")
    if not isinstance(kind, str) or not isinstance(origin, str) or kind not in FIELDS:
        return False
    fields = FIELDS[kind]
    others = signal.keys() - {"kind", "origin"}
    return others == fields.keys() and all(check(signal[name]) for name, check in fields.items())
