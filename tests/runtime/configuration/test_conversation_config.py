"""What a conversation has stored decides its turns, within what owners have trusted."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from jpweb.agent.config import ModelConfig
from jpweb.runtime import wiring
from jpweb.runtime.configuration import ToolAvailability
from jpweb.runtime.conversation_config import (
    load_conversation_config,
    name_model,
    read_config_history,
)
from jpweb.store import journal
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import mirror
from jpweb.store.jp_files.config import size_limits
from jpweb.store.models import Conversation, Person, Workspace
from jpweb.store.workspace_config.stored_config import read_stored_config
from jpweb.stream.events import ChatRequest, ConfigDelta, TurnStart
from tests.builders import make_element
from tests.runtime.configuring import (
    LOCAL,
    get_availability,
    save_overrides,
    trust_all,
    write_config,
)
from tests.store import making

FILES = """
[assistant]
system_prompt = "From the file."
[assistant.model]
id = "openai/from-the-file"
"""


def make_model_delta(name: str, **values: Any) -> ConfigDelta:
    return ConfigDelta(
        {"assistant": {"model": {"id": {"provider": "anthropic", "name": name}}, **values}}
    )


def append_elements(conversation: Conversation, *kinds: Any) -> None:
    journal.append_events(conversation.pk, [making.event(kind) for kind in kinds])


def mirror_stored(workspace: Workspace, base: bytes, *kinds: Any) -> Conversation:
    """Return the mirrored conversation of a folder with this base configuration."""
    folder = making.write_folder(
        Path(workspace.root), "17000000000-stored", [make_element(kind) for kind in kinds]
    )
    (folder / "base_config.json").write_bytes(base)
    mirror.mirror_workspace(Path(workspace.root))
    return Conversation.objects.get(workspace=workspace, jp_id=17000000000)


@pytest.fixture
def conversation(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Conversation:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "a-key")  # without one no turn starts
    write_config(workspace, FILES)
    conversation: Conversation = making.conversation(workspace)
    return conversation


def test_a_change_in_the_stream_decides_the_next_turn(conversation: Conversation):
    append_elements(conversation, make_model_delta("m-2", system_prompt="From the stream."))
    assistant = load_conversation_config(conversation).configuration.assistant
    assert assistant.model.name == "m-2"
    assert assistant.system == ("From the stream.",)
    assert wiring.get_turn_model(conversation).name == "m-2"
    assert wiring.get_conversation_model(conversation).name == "anthropic/m-2"


def test_half_a_model_keeps_the_other_half(conversation: Conversation):
    append_elements(
        conversation,
        make_model_delta("m-2"),
        ConfigDelta({"assistant": {"model": {"id": {"name": "m-3"}}}}),
    )
    assert name_model(load_conversation_config(conversation).configuration) == "anthropic/m-3"


def test_a_conversation_without_changes_follows_the_files(conversation: Conversation):
    assert wiring.get_turn_model(conversation).name == "from-the-file"


def test_parameters_without_a_model_are_those_of_the_installations_model(
    conversation: Conversation, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "PROVIDER", "openai")
    monkeypatch.setattr(settings, "MODEL", "of-all")
    write_config(workspace, "assistant.model.parameters.temperature = 0")
    assert wiring.get_turn_model(conversation) == ModelConfig(
        "openai", "of-all", {"temperature": 0}
    )


def test_workspace_overrides_precede_the_stored_conversation_config(
    conversation: Conversation, workspace: Workspace
):
    append_elements(conversation, make_model_delta("m-2"))
    save_overrides(workspace, '[assistant.model]\nid = "openai/chosen"')
    conversation.workspace.refresh_from_db()
    assert name_model(load_conversation_config(conversation).configuration) == "openai/chosen"


@pytest.mark.parametrize(
    ("change", "availability"),
    [
        ({"command": "other"}, ToolAvailability.CHANGED),
        ({"run": "unattended"}, ToolAvailability.CHANGED),
        ({"summary": "Runs."}, ToolAvailability.OFFERED),
    ],
)
def test_a_stored_command_or_gate_runs_only_as_an_owner_trusted_it(
    conversation: Conversation,
    workspace: Workspace,
    ada: Person,
    change: dict[str, Any],
    availability: Any,
):
    write_config(workspace, LOCAL)
    trust_all(workspace, ada)
    append_elements(conversation, ConfigDelta({"conversation": {"tools": {"t": change}}}))
    assert get_availability(load_conversation_config(conversation), "t") is availability


def test_a_stored_address_gets_no_key_before_an_owner_trusts_it(conversation: Conversation):
    providers = {"llm": {"anthropic": {"base_url": "https://elsewhere.example"}}}
    append_elements(conversation, make_model_delta("m-2"), ConfigDelta({"providers": providers}))
    with pytest.raises(InvalidConfigFile, match="An owner of the workspace must trust that first"):
        wiring.get_turn_model(conversation)


def test_a_stored_value_that_cannot_be_used_refuses_the_turn_and_is_named(
    conversation: Conversation,
):
    append_elements(conversation, TurnStart(), ConfigDelta({"assistant": {"model": 7}}))
    with pytest.raises(InvalidConfigFile, match="configuration change at 1"):
        wiring.get_turn_model(conversation)


def test_a_mirrored_conversation_has_its_base_and_each_change_by_its_turn(workspace: Workspace):
    write_config(workspace, FILES)
    base = {"assistant": {"model": {"id": {"provider": "google", "name": "b"}}}}
    conversation = mirror_stored(
        workspace, json.dumps(base).encode(), TurnStart(), ChatRequest("Hi"),
        make_model_delta("m-2"), TurnStart(), ChatRequest("On"), make_model_delta("m-3"),
    )  # fmt: skip
    history = read_config_history(conversation)
    assert [
        (step.position, step.turn_number, name_model(step.config.configuration), step.differences)
        for step in history.steps
    ] == [
        (None, 0, "google/b", ()),
        (2, 1, "anthropic/m-2", ("model: google/b → anthropic/m-2",)),
        (5, None, "anthropic/m-3", ("model: anthropic/m-2 → anthropic/m-3",)),
    ]
    assert history.differences == ("model: openai/from-the-file → anthropic/m-3",)


@pytest.fixture
def paused_collector() -> Iterator[None]:
    """Let no finalizer run at the deepest call, where it raises an error that pytest reports."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("paused_collector")
@pytest.mark.parametrize(
    ("base", "problem"),
    [
        (b"{", "base_config.json is not JSON"),
        (b"[]", "base_config.json is not an object"),
        (b"[" * 100_000, "base_config.json is not JSON"),
        (b" " * (2 * 1024 * 1024 + 1), "base_config.json: "),
        (
            json.dumps({"x": [0] * 20_000}).encode(),
            "base_config.json: it has more than 20,000 keys and items.",
        ),
    ],
)
def test_a_base_that_cannot_be_read_is_a_problem_and_the_files_count(
    workspace: Workspace, base: bytes, problem: str
):
    write_config(workspace, FILES)
    history = read_config_history(mirror_stored(workspace, base, TurnStart()))
    assert [line.startswith(problem) for line in history.problems] == [True], history.problems
    assert name_model(history.steps[-1].config.configuration) == "openai/from-the-file"


def test_the_smallest_base_that_jpweb_writes_decides_nothing(
    conversation: Conversation, workspace: Workspace
):
    folder = making.write_folder(Path(workspace.root), str(conversation.jp_id), [])
    (folder / "base_config.json").write_text(
        '{"assistant": {"model": {"id": {"provider": "anthropic", "name": "x"}}}}'
    )
    assert wiring.get_turn_model(conversation).name == "from-the-file"


def test_config_history_reports_more_changes_than_its_limit(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("jpweb.store.workspace_config.stored_config.MAX_CHANGES", 2)
    append_elements(conversation, *(make_model_delta(f"m-{number}") for number in range(3)))
    history = read_config_history(conversation)
    assert history.problems == (
        "The configuration change at 2 and all later ones are too many or too large to be read.",
    )
    assert name_model(history.steps[-1].config.configuration) == "anthropic/m-1"


@pytest.mark.parametrize("limit", ["MAX_VALUES", "MAX_TOTAL_VALUES"])
def test_stored_changes_have_the_limits_of_files(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: str
):
    """5,000 tools of a base under 500 changes took 18 s at each load."""
    write_config(workspace, FILES)
    base = b'{"assistant": {"name": "x"}}'
    conversation = mirror_stored(
        workspace,
        base,
        make_model_delta("m-1"),
        make_model_delta("m-2", tool_choice="none"),
        TurnStart(),
    )
    monkeypatch.setattr(size_limits, limit, {"MAX_VALUES": 5, "MAX_TOTAL_VALUES": 12}[limit])
    stored = read_stored_config(conversation)
    assert stored.problems == (
        "The configuration change at 1 and all later ones are too many or too large to be read.",
    )
    assert (len(stored.changes), stored.value_count) == (1, 7)
    monkeypatch.setattr(size_limits, limit, {"MAX_VALUES": 6, "MAX_TOTAL_VALUES": 13}[limit])
    stored = read_stored_config(conversation)
    assert (len(stored.changes), stored.value_count, stored.problems) == (2, 13, ())


def test_config_history_of_a_large_base_lists_fewer_changes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    conversation = mirror_stored(
        workspace, b'{"x": [1, 2, 3]}', *(make_model_delta(f"m-{number}") for number in range(4))
    )
    monkeypatch.setattr("jpweb.runtime.conversation_config.MAX_LOADED_VALUES", 60)
    write_config(workspace, "")  # 4 values of the base, and 5 of each change
    assert read_config_history(conversation).omitted_count == 2
    write_config(workspace, "a = [1, 2, 3, 4, 5, 6, 7]")
    assert read_config_history(conversation).omitted_count == 3


def test_a_large_base_under_many_changes_loads_and_lists_the_newest(workspace: Workspace):
    tools = {f"t{number}": {"enable": "off", "source": "builtin"} for number in range(5_000)}
    delta = ConfigDelta({"assistant": {"name": "x"}})
    conversation = mirror_stored(
        workspace, json.dumps({"conversation": {"tools": tools}}).encode(), *[delta] * 500
    )
    config = load_conversation_config(conversation)
    assert (config.problem, len(config.offers) > 5_000) == ("", True)
    history = read_config_history(conversation)
    assert (len(history.steps), history.omitted_count) == (4, 497)
