"""Schema of the signals that processes exchange; any other message in Redis is ignored.

Redis is shared, and may hold messages of another program, another version or an attacker.
Handlers use the fields without checks, so each field is validated here once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from jpweb.agent.ports import PartialVariant
from jpweb.runtime.broadcast import local_bus

FieldCheck = Callable[[Any], bool]

#: The largest row key, a signed 64-bit integer.
MAX_KEY = 2**63 - 1
#: Variants of partial text.
TEXT_VARIANTS = frozenset(get_args(PartialVariant))
#: Kind of the signal that a process sends to itself, to test the layer.
PING_KIND = "ping"


def is_key(value: Any) -> bool:
    """Return whether a value can be the key of a row."""
    return type(value) is int and 0 < value <= MAX_KEY


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_KEY


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def _is_variant(value: Any) -> bool:
    return isinstance(value, str) and value in TEXT_VARIANTS


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _make_topic_check(subject: str) -> FieldCheck:
    """Return the check of a topic that ends in a row key."""
    prefix = local_bus.make_topic(subject, "")

    def check_topic(value: Any) -> bool:
        if not isinstance(value, str) or not value.startswith(prefix):
            return False
        key = value.removeprefix(prefix)
        return key.isascii() and key.isdecimal() and len(key) < len(str(MAX_KEY))

    return check_topic


def _is_session(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(local_bus.make_topic("session", ""))


_IS_CONVERSATION_TOPIC, _IS_WORKSPACE_TOPIC = (
    _make_topic_check("conversation"),
    _make_topic_check("workspace"),
)

#: Fields and their checks, by kind, of signals to all processes.
BROADCAST_FIELDS: Mapping[str, Mapping[str, FieldCheck]] = {
    "conversation": {"to": _IS_CONVERSATION_TOPIC},
    "questions": {"to": _IS_WORKSPACE_TOPIC},
    "settings": {"to": _IS_WORKSPACE_TOPIC},
    "partial": {"to": _IS_CONVERSATION_TOPIC, "variant": _is_variant, "text": is_text},
    "session": {"to": _is_session},
    "run": {"run": is_key},
    "settled": {"inquiry": is_key},
    "decided": {"approval": is_key},
}
#: Fields and their checks, by kind, of signals to one process.
DIRECT_FIELDS: Mapping[str, Mapping[str, FieldCheck]] = {
    PING_KIND: {},
    "secret": {
        "message": is_text,
        "sender": is_text,
        "inquiry": is_key,
        "by": _is_object,
        "sealed": is_text,
    },
    "secret_ack": {"message": is_text, "result": is_text},
}
SIGNAL_FIELDS: Mapping[str, Mapping[str, FieldCheck]] = {**BROADCAST_FIELDS, **DIRECT_FIELDS}
#: Fields and their checks, by kind, that a signal of a process of an older version lacks.
OPTIONAL_FIELDS: Mapping[str, Mapping[str, FieldCheck]] = {"partial": {"entry_count": _is_count}}


def is_signal(signal: Any) -> bool:
    """Return whether a message is a signal: its kind, that kind's fields, and no unknown ones."""
    if not _is_object(signal):
        return False
    kind, origin = signal.get("kind"), signal.get("origin", "")
    if not isinstance(kind, str) or not isinstance(origin, str) or kind not in SIGNAL_FIELDS:
        return False
    fields = SIGNAL_FIELDS[kind]
    checks = {**fields, **OPTIONAL_FIELDS.get(kind, {})}
    field_names = signal.keys() - {"kind", "origin"}
    return fields.keys() <= field_names <= checks.keys() and all(
        checks[name](signal[name]) for name in field_names
    )
