from __future__ import annotations

from typing import Any

import pytest

from jpweb.runtime.broadcast import partial_texts
from jpweb.runtime.broadcast.partial_texts import MAX_AGE_SECONDS, find_text, forget_text, note_text


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    monkeypatch.setattr(partial_texts, "_texts", {})
    seconds = [1_000.0]
    monkeypatch.setattr(partial_texts, "monotonic", lambda: seconds[0])
    return seconds


def partial(key: int, text: str) -> dict[str, Any]:
    return {"kind": "partial", "to": f"conversation-{key}", "variant": "message", "text": text}


def test_find_text_returns_the_newest_until_it_is_cleared():
    note_text(partial(1, "So"))
    note_text(partial(1, "So it goes"))
    assert find_text("conversation-1") == partial(1, "So it goes")
    assert find_text("conversation-2") is None
    note_text(partial(1, ""))
    assert find_text("conversation-1") is None


def test_find_text_of_a_conversation_that_changed_is_none():
    note_text(partial(1, "So"))
    note_text(partial(2, "So"))
    forget_text({"kind": "conversation", "to": "conversation-1"})
    assert [find_text(f"conversation-{key}") is None for key in (1, 2)] == [True, False]


def test_find_text_of_a_process_that_died_ends(clock: list[float]):
    note_text(partial(1, "So"))
    clock[0] += MAX_AGE_SECONDS
    assert find_text("conversation-1") is None


def test_note_text_beyond_the_bound_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(partial_texts, "MAX_CONVERSATIONS", 2)
    for key in (1, 2, 1, 3):
        note_text(partial(key, "So"))
    assert [find_text(f"conversation-{key}") is None for key in (1, 2, 3)] == [False, True, False]
