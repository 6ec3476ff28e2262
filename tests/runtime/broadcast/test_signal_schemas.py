"""Every kind of signal, and everything that can be wrong with one."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from jpweb.agent.ports import PartialVariant
from jpweb.runtime.broadcast import channel_layer, local_bus, signal_schemas
from jpweb.runtime.broadcast.publisher import (
    make_conversation_topic,
    make_session_topic,
    make_workspace_topic,
)
from tests.machine.serving import ROOT

_HANDLED = re.compile(r'local_bus\.make_kind_topic\(\s*"(\w+)"')

#: One good signal of each kind.
GOOD: dict[str, dict[str, Any]] = {
    "conversation": {"to": make_conversation_topic(7)},
    "questions": {"to": make_workspace_topic(7)},
    "settings": {"to": make_workspace_topic(7)},
    "partial": {"to": make_conversation_topic(7), "variant": "message", "text": ""},
    "session": {"to": make_session_topic("ab12")},
    "run": {"run": 1},
    "settled": {"inquiry": 2**63 - 1},
    "decided": {"approval": 3},
    signal_schemas.PING_KIND: {},
    "secret": {"message": "m", "sender": "s", "inquiry": 4, "by": {"kind": "x"}, "sealed": "x"},
    "secret_ack": {"message": "m", "result": "taken"},
}
_WRONG: tuple[Any, ...] = (None, True, -1, 0, 2**63, 1.5, b"7", [], {1: 1}, [7])
_WRONG_TEXTS = ("conversation-", "conversation-x", "conversation-²", f"workspace-{'9' * 30}", "")


def _misfits() -> list[dict[str, Any]]:
    """Return each signal with one field missing, one too many, or one of another type."""
    broken: list[dict[str, Any]] = [{"kind": kind} for kind in ("look", "roles", "", "unknown")]
    broken += [{"kind": kind} for kind in _WRONG]
    for kind, fields in GOOD.items():
        signal = {"kind": kind, **fields}
        broken += [signal | {"more": 1}, signal | {"origin": 3}]
        for name in fields:
            broken.append({key: value for key, value in signal.items() if key != name})
            broken += [signal | {name: value} for value in _WRONG]
            if name == "to" and kind != "session":
                broken += [signal | {name: value} for value in (*_WRONG_TEXTS, "session-7")]
    return broken


MISFITS = _misfits()


def test_is_signal_accepts_one_signal_of_every_kind():
    assert GOOD.keys() == signal_schemas.SIGNAL_FIELDS.keys()
    assert all(signal_schemas.is_signal({"kind": kind, **fields}) for kind, fields in GOOD.items())
    assert signal_schemas.is_signal({"kind": "run", "run": 1, "origin": "web#1"})


@pytest.mark.parametrize("signal", [None, 3, "text", [], {}, {3: 3}, b"x"])
def test_is_signal_refuses_malformed_signals(signal: Any):
    assert not signal_schemas.is_signal(signal)


def test_fits_refuses_every_field_that_is_wrong():
    assert [signal for signal in MISFITS if signal_schemas.is_signal(signal)] == []


def test_subscribed_signal_kinds_have_a_schema():
    """What a process says to itself alone is no kind that Redis may carry."""
    sources = [path.read_text() for path in (ROOT / "jpweb").rglob("*.py")]
    subscribed_kinds = {kind for text in sources for kind in _HANDLED.findall(text)}
    signal_kinds = {"run", "settled", "decided", "secret", "secret_ack", "partial", "conversation"}
    assert subscribed_kinds == signal_kinds <= signal_schemas.SIGNAL_FIELDS.keys()
    assert set(channel_layer.BROADCAST_KINDS) == signal_schemas.BROADCAST_FIELDS.keys()
    assert not {local_bus.RESYNC, "roles"} & signal_schemas.SIGNAL_FIELDS.keys()


@pytest.mark.parametrize("count", [0, 7, 2**63 - 1])
def test_partial_text_may_have_the_length_that_it_follows(count: int):
    """A process of an older version sends none."""
    assert signal_schemas.is_signal({"kind": "partial", **GOOD["partial"], "entry_count": count})


@pytest.mark.parametrize("count", [None, True, -1, 2**63, 1.5, "7", [7]])
def test_partial_text_with_a_wrong_length_is_no_signal(count: Any):
    signal = {"kind": "partial", **GOOD["partial"], "entry_count": count}
    assert not signal_schemas.is_signal(signal)


@pytest.mark.parametrize("variant", get_args(PartialVariant))
def test_partial_text_signal_accepts_all_variants(variant: str):
    signal = {"kind": "partial", **GOOD["partial"], "variant": variant}
    assert signal_schemas.is_signal(signal)
