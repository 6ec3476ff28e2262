from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.store.errors import InvalidConfigFile, StaleVersion
from jpweb.store.models import Workspace
from jpweb.store.workspace_config import overrides
from tests.machine.sizes import choose_size
from tests.store import making


def enable(text: str, tool: str = "t") -> Any:
    return tomllib.loads(text)["conversation"]["tools"][tool]["enable"]


def test_overrides_are_kept_as_typed(db: None):
    workspace = making.workspace()
    text = "# why\n[assistant]   # here\nname = 'x'\n"
    overrides.save_overrides(workspace, text, overrides.hash_text(""))
    assert Workspace.objects.get(pk=workspace.pk).overrides == workspace.overrides == text


def test_save_overrides_refuses_a_stale_version(db: None):
    workspace = making.workspace()
    stale = Workspace.objects.get(pk=workspace.pk)
    overrides.save_overrides(workspace, "a = 1", overrides.hash_text(""))
    for workspace_row in (stale, workspace):
        with pytest.raises(StaleVersion, match="Someone else saved"):
            overrides.save_overrides(workspace_row, "a = 2", overrides.hash_text(""))
    assert Workspace.objects.get(pk=workspace.pk).overrides == "a = 1"


def test_a_forms_line_ends_become_those_of_toml():
    assert overrides.normalize_text("a = 1\r\nb = '\0'\r\n") == "a = 1\nb = '\ufffd'\n"


@pytest.mark.parametrize("text", ["a = ", "[a", "x" * (overrides.MAX_OVERRIDES_CHARS + 1)])
def test_parse_overrides_refuses_invalid_toml(text: str):
    with pytest.raises(InvalidConfigFile, match=r"^overrides: (not TOML: |longer)"):
        overrides.parse_overrides(text)


SHAPES = {
    "": {"state": True},
    "# only a comment\n": {"state": True},
    "[conversation.tools.t]\nrun = 'ask'\n": {"state": True},
    "[conversation.tools.other]\nrun = 'ask'  # why\n": {"state": True},
    "conversation.tools.t.run = 'ask'\n": {"state": True},
    "[conversation]\ntools = {t = {run = 'ask'}}\n": {"state": True},
    "[conversation.tools.t]\nenable = false\n": {"state": True},
    "[conversation.tools.t]\nenable = 'explicit'\n": {"state": True, "allow_toggle": "if_named"},
    "[conversation.tools.t.enable]\nstate = false\nallow_toggle = 'any'\n": {
        "state": True,
        "allow_toggle": "any",
    },
    "[conversation.tools.t]\nenable = {state = false} # why\n": {"state": True},
    "conversation.tools.t.enable.state = false\n": {"state": True},
    "[conversation.tools.t.questions.q]\nanswer = 1\n[assistant]\nname = 'x'\n": {"state": True},
}


@pytest.mark.parametrize("text", SHAPES)
def test_a_switch_changes_the_state_alone(text: str):
    toml = overrides.toggle_tools(text, {"t": True})
    assert enable(toml) == SHAPES[text]
    before, after = tomllib.loads(text), tomllib.loads(toml)
    for values in (before, after):
        tools = values.setdefault("conversation", {}).setdefault("tools", {})
        tools.setdefault("t", {}).pop("enable", None)
    assert before == after
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in toml.splitlines() if line.startswith("#")
    ]


def test_toggle_tools_keeps_a_comment_beside_the_switched_tool():
    toml = overrides.toggle_tools(
        "[conversation.tools.t]\nenable = {state = false} # why\n", {"t": True}
    )
    assert "# why" in toml


def test_toggle_tools_on_and_off_restores_the_text():
    toml = overrides.toggle_tools("", {"t": False})
    assert overrides.toggle_tools(overrides.toggle_tools(toml, {"t": True}), {"t": False}) == toml


@settings(max_examples=choose_size(10, 100))
@given(st.sampled_from(sorted(SHAPES)), st.text("abz_-09", min_size=1, max_size=5), st.booleans())
def test_toggle_tools_switches_a_tool_of_any_name(text: str, tool: str, is_on: bool):
    assert enable(overrides.toggle_tools(text, {tool: is_on}), tool)["state"] is is_on


@pytest.mark.parametrize(
    "text", ["conversation = 1", "conversation.tools = []", "[conversation.tools]\nt = 1"]
)
def test_toggle_tools_refuses_a_value_that_is_no_table(text: str):
    with pytest.raises(InvalidConfigFile, match=r"^overrides: \w+ is not a table\.$"):
        overrides.toggle_tools(text, {"t": True})


def test_toggle_tools_that_fails_names_the_line_to_add(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tomlkit.dumps", lambda document: "a = 1")
    with pytest.raises(
        InvalidConfigFile, match=r"Add: conversation\.tools\.t\.enable\.state = true$"
    ):
        overrides.toggle_tools("", {"t": True})
    monkeypatch.setattr("tomlkit.dumps", lambda document: document["missing"])
    with pytest.raises(
        InvalidConfigFile, match=r"Add: conversation\.tools\.t\.enable\.state = false$"
    ):
        overrides.toggle_tools("", {"t": False})


def test_toggle_tools_switches_several_tools_and_keeps_comments():
    toml = overrides.toggle_tools(
        "# mine\n[conversation.tools.a]\nrun = 'ask' # why\n", {"a": False, "b": True}
    )
    assert (enable(toml, "a"), enable(toml, "b")) == ({"state": False}, {"state": True})
    assert "# mine" in toml
    assert "# why" in toml
