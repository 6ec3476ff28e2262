"""The models that a conversation had: stored ones, aliases, and those of its runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jpweb.runtime.model_history import BEFORE_TURNS, list_models, read_changed_model
from jpweb.store.models import Run
from jpweb.stream.events import ChatRequest, ConfigDelta, TurnStart
from tests.builders import raw
from tests.store import making
from tests.store.transcript.test_windows import mirror_conversation

pytestmark = pytest.mark.django_db


def make_change(model_id: Any, **aliases: str) -> ConfigDelta:
    delta: dict[str, Any] = {"assistant": {"model": {"id": model_id}}}
    if aliases:
        delta["providers"] = {"llm": {"aliases": aliases}}
    return ConfigDelta(delta)


def list_uses(*kinds: Any) -> list[tuple[str, int | None]]:
    uses = list_models(mirror_conversation(*kinds), [])
    return [(use.model_id, use.turn_number) for use in uses]


def test_models_of_changes_are_listed_with_the_turn_they_begin_at():
    assert list_uses(
        make_change({"provider": "google", "name": "g-3"}), TurnStart(), ChatRequest("Hi"),
        make_change("anthropic/o-4"), TurnStart(), ChatRequest("On"),
        make_change("anthropic/o-5"),
    ) == [("google/g-3", 0), ("anthropic/o-4", 1), ("anthropic/o-5", None)]  # fmt: skip


def test_model_history_ignores_other_configuration_changes():
    assert list_uses(
        make_change("google/g-3"), TurnStart(),
        ConfigDelta({"assistant": {"system_prompt": "Be short."}}), TurnStart(),
        make_change("google/g-3"), TurnStart(),
    ) == [("google/g-3", 0)]  # fmt: skip


def test_an_alias_is_resolved_as_of_its_change():
    assert list_uses(
        make_change("opus", opus="anthropic/o-4"), TurnStart(),
        make_change("coder", coder="opus", opus="anthropic/o-5"), TurnStart(),
    ) == [("anthropic/o-4", 0), ("anthropic/o-5", 1)]  # fmt: skip


def test_a_part_of_an_id_extends_the_id_before_it():
    assert list_uses(
        make_change({"provider": "google", "name": "g-3"}), TurnStart(),
        make_change({"name": "g-4"}), TurnStart(),
    ) == [("google/g-3", 0), ("google/g-4", 1)]  # fmt: skip


@pytest.mark.parametrize("model_id", ["nobody", {"name": "x"}, 7, ["a/b"], "a/b c"])
def test_a_model_that_cannot_be_read_is_left_out(model_id: Any):
    assert list_uses(make_change("google/g-3"), TurnStart(), make_change([]), TurnStart())
    odd = raw(
        {
            "type": "config_delta",
            "timestamp": "2026-01-02 03:00:00.0",
            "delta": {"assistant": {"model": {"id": model_id}}, "providers": []},
        }
    )
    assert list_uses(odd, TurnStart()) == []


def test_model_history_without_stored_model_and_run_is_empty():
    assert list_uses(TurnStart(), ChatRequest("Hi")) == []


def test_runs_name_their_model_and_the_turn_they_ran_in():
    conversation = making.conversation(making.workspace())
    starts = []
    for hour, name in ((3, "a"), (4, "a"), (5, "b")):
        at = datetime(2026, 1, 2, hour, tzinfo=UTC)
        Run.objects.create(
            conversation=conversation, provider="p", model=name, started_at=at, state="done"
        )
        starts.append((at, hour - 3))
    uses = list_models(conversation, starts)
    assert [(use.model_id, use.turn_number) for use in uses] == [("p/a", 0), ("p/b", 2)]
    assert list_models(conversation, starts[2:])[0].turn_number == BEFORE_TURNS


@pytest.mark.parametrize(
    ("delta", "name"),
    [
        ({"assistant": {"model": {"id": {"provider": "p", "name": "b"}}}}, "p/b"),
        ({"assistant": {"model": {"id": "p/b"}}}, "p/b"),
        ({"assistant": {"system_prompt": "Be short."}}, ""),
        ({"assistant": {"model": {"id": 7}}}, ""),
    ],
)
def test_read_changed_model_returns_what_the_change_alone_names(delta: Any, name: str):
    assert read_changed_model(delta) == name
