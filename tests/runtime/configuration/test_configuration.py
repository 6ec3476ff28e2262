from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.agent.config import AllowToggle
from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability
from jpweb.runtime.provider_status import list_provider_statuses
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.models import Person, Workspace
from jpweb.store.workspace_config.trust import TrustState
from tests.runtime.configuring import (
    LOCAL,
    get_availability,
    list_tool_names,
    save_overrides,
    trust_all,
    write_config,
)


def test_workspace_config_without_files_offers_the_built_ins(workspace: Workspace):
    config = configuration.load_workspace_config(workspace)
    assert {"ask_user", "demo_vault"} <= list_tool_names(config)
    assert (config.problem, config.notes, config.unavailable, config.trust_statuses) == (
        "",
        (),
        {},
        (),
    )


def test_the_overrides_lie_over_the_files(workspace: Workspace):
    write_config(workspace, 'assistant.name = "file"\nassistant.model.id = "a/b"')
    save_overrides(workspace, 'assistant.name = "owner"')
    assistant = configuration.load_workspace_config(workspace).configuration.assistant
    assert (assistant.name, assistant.model.name) == ("owner", "b")


def test_switch_all_tools_skips_explicit_and_locked_tools(workspace: Workspace):
    write_config(
        workspace,
        f'{LOCAL}[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.u]\nsource = "local"\ncommand = "x"\nenable = false',
    )
    enabled_names = ["ask_user", "describe_tools", "locked"]
    assert configuration.switch_all_tools(workspace, is_on=False) == enabled_names
    tools = configuration.load_workspace_config(workspace).configuration.tools
    assert {name for name, tool in tools.items() if tool.enable.state} == set(enabled_names)
    assert "[conversation.tools.u]" not in workspace.overrides
    configuration.switch_tool(workspace, "ask_user", is_on=False)
    assert configuration.switch_all_tools(workspace, is_on=True) == ["ask_user"]
    tools = configuration.load_workspace_config(workspace).configuration.tools
    assert {name for name, tool in tools.items() if not tool.enable.state} == {"ask_user"}


def test_provider_address_is_shown_without_its_key(workspace: Workspace):
    write_config(workspace, '[providers.llm.own]\nbase_url = "https://me:s3cret@x/v1?key=s3cret"')
    config = configuration.load_workspace_config(workspace)
    assert [status.address for status in list_provider_statuses(config)] == ["https://…@x/v1?…"]
    assert "s3cret" not in config.trust_statuses[0].item.display_text
    assert config.configuration.providers["own"].base_url == "https://me:s3cret@x/v1?key=s3cret"


def test_disabled_tool_is_not_offered_although_trusted(workspace: Workspace, ada: Person):
    write_config(workspace, f"{LOCAL}enable = false")
    trust_all(workspace, ada)
    assert (
        get_availability(configuration.load_workspace_config(workspace), "t")
        is ToolAvailability.OFF
    )


def test_a_built_in_that_jpweb_has_not_is_not_offered(workspace: Workspace):
    write_config(workspace, '[conversation.tools.unheard]\nsource = "builtin"')
    assert (
        get_availability(configuration.load_workspace_config(workspace), "unheard")
        is ToolAvailability.NO_BUILTIN
    )


BROKEN = [
    ("config.toml", "a = = 1", ".jp/config.toml: not TOML: Invalid value (at line 1, column 5)"),
    ("config.toml", "[conversation.tools.t]", ".jp/config.toml: conversation.tools.t.source is mi"),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN)
def test_a_broken_file_offers_nothing_and_says_so_in_one_line(
    workspace: Workspace, name: str, text: str, message: str
):
    write_config(workspace, text)
    config = configuration.load_workspace_config(workspace)
    assert config.problem.startswith(message)
    assert "\n" not in config.problem
    assert config.tools == ()
    assert set(config.unavailable.values()) == {ToolAvailability.BROKEN.value}


def test_overrides_that_make_no_sense_are_not_kept(workspace: Workspace):
    for bad in ("a = = 1", "[conversation.tools.t]", 'conversation.tools.ask_user.run = "x"'):
        with pytest.raises(InvalidConfigFile, match=r"^overrides: "):
            save_overrides(workspace, bad)
    workspace.refresh_from_db()
    assert workspace.overrides == ""


def test_overrides_can_correct_an_invalid_file(workspace: Workspace):
    write_config(workspace, "assistant.name = 1")
    assert configuration.load_workspace_config(workspace).problem
    save_overrides(workspace, 'assistant.name = "x"')
    assert configuration.load_workspace_config(workspace).problem == ""


def test_a_tool_is_switched_by_its_name(workspace: Workspace):
    configuration.switch_tool(workspace, "ask_user", is_on=False)
    assert (
        get_availability(configuration.load_workspace_config(workspace), "ask_user")
        is ToolAvailability.OFF
    )
    configuration.switch_tool(workspace, "ask_user", is_on=True)
    enable = configuration.load_workspace_config(workspace).configuration.tools["ask_user"].enable
    assert (enable.state, enable.allow_toggle) == (True, AllowToggle.IF_NAMED)


@pytest.mark.parametrize(
    ("tool", "pattern"), [("locked", "“locked” is locked"), ("none", "Unknown tool “none”.")]
)
def test_switch_tool_refuses_locked_and_unknown_tools(
    workspace: Workspace, tool: str, pattern: str
):
    write_config(workspace, '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"')
    with pytest.raises(InvalidConfigFile, match=pattern):
        configuration.switch_tool(workspace, tool, is_on=False)
    workspace.refresh_from_db()
    assert workspace.overrides == ""


def test_can_switch_tool_follows_allow_toggle(workspace: Workspace):
    write_config(
        workspace,
        '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.named]\nsource = "builtin"\nenable = "explicit"',
    )
    tools = configuration.load_workspace_config(workspace).configuration.tools
    assert not configuration.can_switch_tool(tools["locked"])
    assert configuration.can_switch_tool(tools["named"])


def test_untrusted_provider_address_gets_no_key(workspace: Workspace, ada: Person):
    write_config(workspace, '[providers.llm.anthropic]\nbase_url = "https://evil.example"')
    config = configuration.load_workspace_config(workspace)
    assert "“anthropic”" in config.find_provider_problem("anthropic")
    assert config.find_provider_problem("openai") == ""
    trust_all(workspace, ada)
    assert configuration.load_workspace_config(workspace).find_provider_problem("anthropic") == ""


def test_provider_status_shows_if_a_key_is_set_and_never_the_key(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "s3cret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    write_config(
        workspace,
        'assistant.model.id = "anthropic/claude"\n[providers.llm.own]\napi_key_env = "MY_KEY"\n'
        'base_url = "https://own.example"\n[providers.llm.bare]',
    )
    config = configuration.load_workspace_config(workspace)
    statuses = {status.name: status for status in list_provider_statuses(config)}
    assert list(statuses) == ["anthropic", "own", "bare"]
    assert (statuses["own"].key_variable, statuses["own"].has_key) == ("MY_KEY", True)
    assert statuses["own"].trust_state is TrustState.NEW
    assert (statuses["anthropic"].key_variable, statuses["anthropic"].has_key) == (
        "ANTHROPIC_API_KEY",
        False,
    )
    assert statuses["anthropic"].address == "https://api.anthropic.com"
    assert not statuses["bare"].has_key
    assert "s3cret" not in repr(statuses)


def test_notes_of_files_and_of_keys_are_kept(workspace: Workspace):
    write_config(workspace, "nonsense = 1")
    (Path(workspace.root) / ".jp" / "config.yaml").write_text("")
    assert configuration.load_workspace_config(workspace).notes == (
        ".jp/config.yaml was not read: .jp/config.toml is.",
        ".jp/config.toml: nonsense is not known and was ignored.",
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("builtin", "builtin"),
        ("local", "local"),
        ("local.x", "local.x"),
        ("mcp.s", "mcp.s"),
        ("mcp.s.x", "mcp.s.x"),
    ],
)
def test_tool_source_is_shown_in_jps_spelling(workspace: Workspace, source: str, words: str):
    write_config(workspace, f'[conversation.tools.t]\nsource = "{source}"\ncommand = "c"')
    assert (
        configuration.format_tool_source(
            configuration.load_workspace_config(workspace).configuration.tools["t"]
        )
        == words
    )
