"""What an owner has to trust before it runs: commands, servers and gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.agent.config import ToolCommand
from jpweb.agent.config.trust import TrustItemKind
from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability
from jpweb.store.errors import StaleVersion
from jpweb.store.models import Person, Workspace
from jpweb.store.workspace_config import trust
from jpweb.store.workspace_config.trust import TrustState
from tests.runtime.configuring import (
    LOCAL,
    SERVED,
    get_availability,
    list_tool_names,
    save_overrides,
    trust_all,
    write_config,
)


def test_untrusted_tool_is_unavailable_until_granted(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    before = configuration.load_workspace_config(workspace)
    assert get_availability(before, "t") is ToolAvailability.NEW
    assert "t" not in list_tool_names(before)
    assert before.unavailable["t"] == ToolAvailability.NEW.value
    trust_all(workspace, ada)
    after = configuration.load_workspace_config(workspace)
    assert "t" in list_tool_names(after)
    assert after.unavailable == {}
    assert trust.list_trusted(workspace.pk)["tool", "t"].trusted_by == ada


def test_a_command_that_changes_asks_again_and_shows_how(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    trust_all(workspace, ada)
    write_config(workspace, LOCAL.replace("{{context}}", "--all"))
    config = configuration.load_workspace_config(workspace)
    assert get_availability(config, "t") is ToolAvailability.CHANGED
    (thing,) = config.trust_statuses
    assert [(line.change, line.text) for line in thing.diff_lines] == [
        ("same", "program: run"),
        ("removed", "argument 1: {{context}}"),
        ("added", "argument 1: --all"),
    ]
    write_config(workspace, LOCAL)
    assert (
        get_availability(configuration.load_workspace_config(workspace), "t")
        is ToolAvailability.OFFERED
    )
    assert configuration.load_workspace_config(workspace).trust_statuses[0].diff_lines == []


GATES = [
    'run = "unattended"',
    'result = "ask"',
    'detached = "auto"',
    "questions.confirm.answer = true",
    'questions.confirm.target = "assistant"',
    "questions.confirm.exclusive = false",
]


@pytest.mark.parametrize("toml", GATES)
@pytest.mark.parametrize(("text", "tool"), [(LOCAL, "t"), (SERVED, "m")])
def test_a_gate_that_a_file_drops_asks_again(
    workspace: Workspace, ada: Person, text: str, tool: str, toml: str
):
    (Path(workspace.root) / ".jp" / "config.d").mkdir()
    later_file = Path(workspace.root) / ".jp" / "config.d" / "later.toml"
    write_config(workspace, text)
    trust_all(workspace, ada)
    later_file.write_text(f"[conversation.tools.{tool}]\n{toml}")
    config = configuration.load_workspace_config(workspace)
    assert get_availability(config, tool) in (
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    )
    assert config.trust_statuses[0].diff_lines
    trust_all(workspace, ada)
    assert (
        get_availability(configuration.load_workspace_config(workspace), tool)
        is ToolAvailability.OFFERED
    )
    later_file.unlink()  # a gate that a file had closed
    assert get_availability(configuration.load_workspace_config(workspace), tool) in (
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    )


@pytest.mark.parametrize("toml", [gate for gate in GATES if "questions" not in gate])
def test_changed_tool_defaults_need_new_trust_of_each_tool(
    workspace: Workspace, ada: Person, toml: str
):
    write_config(workspace, LOCAL + SERVED)
    trust_all(workspace, ada)
    write_config(workspace, f'{LOCAL}{SERVED}[conversation.tools."*"]\n{toml}')
    config = configuration.load_workspace_config(workspace)
    assert (get_availability(config, "t"), get_availability(config, "m")) == (
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    )


@pytest.mark.parametrize("toml", GATES)
@pytest.mark.parametrize(("text", "tool"), [(LOCAL, "t"), (SERVED, "m")])
def test_a_gate_in_the_overrides_is_an_owners_own_word(
    workspace: Workspace, ada: Person, text: str, tool: str, toml: str
):
    write_config(workspace, text)
    trust_all(workspace, ada)
    save_overrides(workspace, f"[conversation.tools.{tool}]\n{toml}")
    assert (
        get_availability(configuration.load_workspace_config(workspace), tool)
        is ToolAvailability.OFFERED
    )


def test_the_overrides_hide_no_gate_that_a_file_drops(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    save_overrides(workspace, 'conversation.tools.t.run = "ask"')
    trust_all(workspace, ada)
    write_config(workspace, f'{LOCAL}run = "unattended"')
    assert (
        get_availability(configuration.load_workspace_config(workspace), "t")
        is ToolAvailability.CHANGED
    )


def test_overrides_may_put_right_a_gate_that_a_file_says_wrong(workspace: Workspace):
    write_config(workspace, f'{LOCAL}run = "sometimes"')
    save_overrides(workspace, 'conversation.tools.t.run = "unattended"')
    config = configuration.load_workspace_config(workspace)
    assert (config.problem, get_availability(config, "t")) == ("", ToolAvailability.NEW)
    assert "approval: none" in config.trust_statuses[0].item.display_text


def test_a_built_in_whose_gates_a_file_opens_waits_for_trust(workspace: Workspace, ada: Person):
    write_config(workspace, "conversation.tools.ask_user.questions.answer.answer = true")
    assert (
        get_availability(configuration.load_workspace_config(workspace), "ask_user")
        is ToolAvailability.NEW
    )
    trust_all(workspace, ada)
    assert (
        get_availability(configuration.load_workspace_config(workspace), "ask_user")
        is ToolAvailability.OFFERED
    )
    write_config(workspace, "conversation.tools.ask_user.questions.answer.answer = false")
    config = configuration.load_workspace_config(workspace)
    assert get_availability(config, "ask_user") is ToolAvailability.CHANGED
    assert config.trust_statuses[0].diff_lines[-1].text == "(a value that is not shown has changed)"


def test_an_owner_opens_the_gates_of_a_built_in_without_more_ado(workspace: Workspace):
    save_overrides(workspace, "conversation.tools.ask_user.questions.answer.answer = true")
    assert configuration.load_workspace_config(workspace).trust_statuses == ()


def test_grant_trust_refuses_a_tool_changed_since_the_page(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    (thing,) = configuration.load_workspace_config(workspace).trust_statuses
    write_config(workspace, LOCAL.replace("run", "rm"))
    with pytest.raises(StaleVersion, match="“t” has changed since you opened the page"):
        configuration.grant_trust(workspace, [("tool", "t", thing.item.fingerprint)], ada)
    assert trust.list_trusted(workspace.pk) == {}


def test_grant_trust_of_several_tools_is_atomic(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    (thing,) = configuration.load_workspace_config(workspace).trust_statuses
    with pytest.raises(StaleVersion):
        configuration.grant_trust(
            workspace, [("tool", "t", thing.item.fingerprint), ("tool", "gone", "x")], ada
        )
    assert trust.list_trusted(workspace.pk) == {}


def test_trust_that_is_withdrawn_ends_the_offer(workspace: Workspace, ada: Person):
    write_config(workspace, LOCAL)
    trust_all(workspace, ada)
    assert configuration.withdraw_trust(workspace, [("tool", "t")]) == 1
    assert (
        get_availability(configuration.load_workspace_config(workspace), "t")
        is ToolAvailability.NEW
    )


def test_a_tool_of_a_server_waits_for_its_server(workspace: Workspace, ada: Person):
    write_config(workspace, SERVED)
    assert (
        get_availability(configuration.load_workspace_config(workspace), "m")
        is ToolAvailability.SERVER_NEW
    )
    trust_all(workspace, ada)
    config = configuration.load_workspace_config(workspace)
    assert get_availability(config, "m") is ToolAvailability.OFFERED
    assert config.get_server_trust_state("s") is TrustState.TRUSTED
    write_config(workspace, SERVED.replace('"serve"', '"other"'))
    assert (
        get_availability(configuration.load_workspace_config(workspace), "m")
        is ToolAvailability.SERVER_CHANGED
    )
    write_config(workspace, SERVED.partition("[providers")[0])
    assert (
        get_availability(configuration.load_workspace_config(workspace), "m")
        is ToolAvailability.NO_SERVER
    )


def test_a_formatter_that_is_not_trusted_is_left_out(workspace: Workspace, ada: Person):
    write_config(workspace, '[conversation.tools.ask_user]\nstyle.parameters = "fmt"')

    def formatter() -> ToolCommand | None:
        return next(
            t for t in configuration.load_workspace_config(workspace).tools if t.name == "ask_user"
        ).formatter

    assert formatter() is None
    trust_all(workspace, ada)
    assert formatter() == ToolCommand("fmt")


def test_the_kinds_of_the_agent_fit_the_column(workspace: Workspace):
    assert max(len(kind.value) for kind in TrustItemKind) <= 10
