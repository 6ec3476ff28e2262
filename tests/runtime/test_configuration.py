from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.agent.config import AllowToggle, ToolCommand
from jpweb.agent.config.trust import TrustItemKind
from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability, WorkspaceConfig
from jpweb.store.errors import InvalidConfigFile, StaleVersion
from jpweb.store.models import Person, Workspace
from jpweb.store.workspace_config import overrides, trust
from jpweb.store.workspace_config.trust import TrustState
from tests.store import making

LOCAL = """
[conversation.tools.t]
source = "local"
command = "run {{context}}"
"""
SERVED = """
[conversation.tools.m]
source = "mcp.s"
[providers.mcp.s]
command = "serve"
"""


@pytest.fixture
def home(db: None, tmp_path: Path) -> Workspace:
    (tmp_path / ".jp").mkdir()
    made = making.workspace()
    Workspace.objects.filter(pk=made.pk).update(root=str(tmp_path))
    made.refresh_from_db()
    return made


@pytest.fixture
def ada(db: None) -> Person:
    return making.person("ada")


def write(home: Workspace, text: str) -> None:
    (Path(home.root) / ".jp" / "config.toml").write_text(text)


def trust_all(home: Workspace, person: Person) -> None:
    seen = [
        (thing.item.kind.value, thing.item.name, thing.item.fingerprint)
        for thing in configuration.load_workspace_config(home).trust_statuses
    ]
    configuration.grant_trust(home, seen, person)


def save(home: Workspace, text: str) -> None:
    configuration.save_overrides(home, text, overrides.hash_text(home.overrides))


def why(now: WorkspaceConfig, name: str) -> ToolAvailability:
    return next(offer.availability for offer in now.offers if offer.tool.name == name)


def names(now: WorkspaceConfig) -> set[str]:
    return {tool.name for tool in now.tools}


def test_without_any_configuration_the_built_ins_are_offered(home: Workspace):
    now = configuration.load_workspace_config(home)
    assert {"ask_user", "demo_vault"} <= names(now)
    assert (now.problem, now.notes, now.unavailable, now.trust_statuses) == ("", (), {}, ())


def test_the_overrides_lie_over_the_files(home: Workspace):
    write(home, 'assistant.name = "file"\nassistant.model.id = "a/b"')
    save(home, 'assistant.name = "owner"')
    found = configuration.load_workspace_config(home).configuration.assistant
    assert (found.name, found.model.name) == ("owner", "b")


def test_nothing_runs_until_an_owner_has_seen_it(home: Workspace, ada: Person):
    write(home, LOCAL)
    before = configuration.load_workspace_config(home)
    assert why(before, "t") is ToolAvailability.NEW
    assert "t" not in names(before)
    assert before.unavailable["t"] == ToolAvailability.NEW.value
    trust_all(home, ada)
    after = configuration.load_workspace_config(home)
    assert "t" in names(after)
    assert after.unavailable == {}
    assert trust.list_trusted(home.pk)["tool", "t"].trusted_by == ada


def test_a_command_that_changes_asks_again_and_shows_how(home: Workspace, ada: Person):
    write(home, LOCAL)
    trust_all(home, ada)
    write(home, LOCAL.replace("{{context}}", "--all"))
    now = configuration.load_workspace_config(home)
    assert why(now, "t") is ToolAvailability.CHANGED
    (thing,) = now.trust_statuses
    assert [(line.change, line.text) for line in thing.diff_lines] == [
        ("same", "program: run"),
        ("removed", "argument 1: {{context}}"),
        ("added", "argument 1: --all"),
    ]
    write(home, LOCAL)
    assert why(configuration.load_workspace_config(home), "t") is ToolAvailability.OFFERED
    assert configuration.load_workspace_config(home).trust_statuses[0].diff_lines == []


GATES = [
    'run = "unattended"',
    'result = "ask"',
    'detached = "auto"',
    "questions.confirm.answer = true",
    'questions.confirm.target = "assistant"',
    "questions.confirm.exclusive = false",
]


@pytest.mark.parametrize("said", GATES)
@pytest.mark.parametrize(("text", "tool"), [(LOCAL, "t"), (SERVED, "m")])
def test_a_gate_that_a_file_drops_asks_again(
    home: Workspace, ada: Person, text: str, tool: str, said: str
):
    (Path(home.root) / ".jp" / "config.d").mkdir()
    later = Path(home.root) / ".jp" / "config.d" / "later.toml"
    write(home, text)
    trust_all(home, ada)
    later.write_text(f"[conversation.tools.{tool}]\n{said}")
    now = configuration.load_workspace_config(home)
    assert why(now, tool) in (ToolAvailability.CHANGED, ToolAvailability.SERVER_CHANGED)
    assert now.trust_statuses[0].diff_lines
    trust_all(home, ada)
    assert why(configuration.load_workspace_config(home), tool) is ToolAvailability.OFFERED
    later.unlink()  # a gate that a file had closed
    assert why(configuration.load_workspace_config(home), tool) in (
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    )


@pytest.mark.parametrize("said", [said for said in GATES if "questions" not in said])
def test_what_a_file_says_of_all_tools_counts_for_each(home: Workspace, ada: Person, said: str):
    write(home, LOCAL + SERVED)
    trust_all(home, ada)
    write(home, f'{LOCAL}{SERVED}[conversation.tools."*"]\n{said}')
    now = configuration.load_workspace_config(home)
    assert (why(now, "t"), why(now, "m")) == (
        ToolAvailability.CHANGED,
        ToolAvailability.SERVER_CHANGED,
    )


@pytest.mark.parametrize("said", GATES)
@pytest.mark.parametrize(("text", "tool"), [(LOCAL, "t"), (SERVED, "m")])
def test_a_gate_in_the_overrides_is_an_owners_own_word(
    home: Workspace, ada: Person, text: str, tool: str, said: str
):
    write(home, text)
    trust_all(home, ada)
    save(home, f"[conversation.tools.{tool}]\n{said}")
    assert why(configuration.load_workspace_config(home), tool) is ToolAvailability.OFFERED


def test_the_overrides_hide_no_gate_that_a_file_drops(home: Workspace, ada: Person):
    write(home, LOCAL)
    save(home, 'conversation.tools.t.run = "ask"')
    trust_all(home, ada)
    write(home, f'{LOCAL}run = "unattended"')
    assert why(configuration.load_workspace_config(home), "t") is ToolAvailability.CHANGED


def test_overrides_may_put_right_a_gate_that_a_file_says_wrong(home: Workspace):
    write(home, f'{LOCAL}run = "sometimes"')
    save(home, 'conversation.tools.t.run = "unattended"')
    now = configuration.load_workspace_config(home)
    assert (now.problem, why(now, "t")) == ("", ToolAvailability.NEW)
    assert "approval: none" in now.trust_statuses[0].item.display_text


def test_a_built_in_whose_gates_a_file_opens_waits_for_trust(home: Workspace, ada: Person):
    write(home, "conversation.tools.ask_user.questions.answer.answer = true")
    assert why(configuration.load_workspace_config(home), "ask_user") is ToolAvailability.NEW
    trust_all(home, ada)
    assert why(configuration.load_workspace_config(home), "ask_user") is ToolAvailability.OFFERED
    write(home, "conversation.tools.ask_user.questions.answer.answer = false")
    now = configuration.load_workspace_config(home)
    assert why(now, "ask_user") is ToolAvailability.CHANGED
    assert now.trust_statuses[0].diff_lines[-1].text == "(a value that is not shown has changed)"


def test_an_owner_opens_the_gates_of_a_built_in_without_more_ado(home: Workspace):
    save(home, "conversation.tools.ask_user.questions.answer.answer = true")
    assert configuration.load_workspace_config(home).trust_statuses == ()


def test_all_tools_are_switched_but_those_that_must_be_named_or_are_locked(home: Workspace):
    write(
        home,
        f'{LOCAL}[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.u]\nsource = "local"\ncommand = "x"\nenable = false',
    )
    left = ["ask_user", "describe_tools", "locked"]
    assert configuration.switch_all_tools(home, is_on=False) == left
    tools = configuration.load_workspace_config(home).configuration.tools
    assert {name for name, tool in tools.items() if tool.enable.state} == set(left)
    assert "[conversation.tools.u]" not in home.overrides
    configuration.switch_tool(home, "ask_user", is_on=False)
    assert configuration.switch_all_tools(home, is_on=True) == ["ask_user"]
    tools = configuration.load_workspace_config(home).configuration.tools
    assert {name for name, tool in tools.items() if not tool.enable.state} == {"ask_user"}


def test_an_address_with_a_key_in_it_is_shown_to_nobody(home: Workspace):
    write(home, '[providers.llm.own]\nbase_url = "https://me:s3cret@x/v1?key=s3cret"')
    now = configuration.load_workspace_config(home)
    assert [each.address for each in configuration.list_provider_statuses(now)] == [
        "https://…@x/v1?…"
    ]
    assert "s3cret" not in now.trust_statuses[0].item.display_text
    assert now.configuration.providers["own"].base_url == "https://me:s3cret@x/v1?key=s3cret"


def test_what_changes_between_look_and_click_is_not_trusted(home: Workspace, ada: Person):
    write(home, LOCAL)
    (thing,) = configuration.load_workspace_config(home).trust_statuses
    write(home, LOCAL.replace("run", "rm"))
    with pytest.raises(StaleVersion, match="“t” has changed since you opened the page"):
        configuration.grant_trust(home, [("tool", "t", thing.item.fingerprint)], ada)
    assert trust.list_trusted(home.pk) == {}


def test_several_are_trusted_together_or_not_at_all(home: Workspace, ada: Person):
    write(home, LOCAL)
    (thing,) = configuration.load_workspace_config(home).trust_statuses
    with pytest.raises(StaleVersion):
        configuration.grant_trust(
            home, [("tool", "t", thing.item.fingerprint), ("tool", "gone", "x")], ada
        )
    assert trust.list_trusted(home.pk) == {}


def test_trust_that_is_withdrawn_ends_the_offer(home: Workspace, ada: Person):
    write(home, LOCAL)
    trust_all(home, ada)
    assert configuration.revoke_trust(home, [("tool", "t")]) == 1
    assert why(configuration.load_workspace_config(home), "t") is ToolAvailability.NEW


def test_a_tool_of_a_server_waits_for_its_server(home: Workspace, ada: Person):
    write(home, SERVED)
    assert why(configuration.load_workspace_config(home), "m") is ToolAvailability.SERVER_NEW
    trust_all(home, ada)
    now = configuration.load_workspace_config(home)
    assert why(now, "m") is ToolAvailability.OFFERED
    assert now.get_server_standing("s") is TrustState.TRUSTED
    write(home, SERVED.replace('"serve"', '"other"'))
    assert why(configuration.load_workspace_config(home), "m") is ToolAvailability.SERVER_CHANGED
    write(home, SERVED.partition("[providers")[0])
    assert why(configuration.load_workspace_config(home), "m") is ToolAvailability.NO_SERVER


def test_a_formatter_that_is_not_trusted_is_left_out(home: Workspace, ada: Person):
    write(home, '[conversation.tools.ask_user]\nstyle.parameters = "fmt"')

    def formatter() -> ToolCommand | None:
        return next(
            t for t in configuration.load_workspace_config(home).tools if t.name == "ask_user"
        ).formatter

    assert formatter() is None
    trust_all(home, ada)
    assert formatter() == ToolCommand("fmt")


def test_a_tool_that_is_off_is_not_offered_whatever_is_trusted(home: Workspace, ada: Person):
    write(home, f"{LOCAL}enable = false")
    trust_all(home, ada)
    assert why(configuration.load_workspace_config(home), "t") is ToolAvailability.OFF


def test_a_built_in_that_jpweb_has_not_is_not_offered(home: Workspace):
    write(home, '[conversation.tools.unheard]\nsource = "builtin"')
    assert why(configuration.load_workspace_config(home), "unheard") is ToolAvailability.NO_BUILTIN


BROKEN = [
    ("config.toml", "a = = 1", ".jp/config.toml: not TOML: Invalid value (at line 1, column 5)"),
    ("config.toml", "[conversation.tools.t]", ".jp/config.toml: conversation.tools.t.source is mi"),
]


@pytest.mark.parametrize(("name", "text", "said"), BROKEN)
def test_a_broken_file_offers_nothing_and_says_so_in_one_line(
    home: Workspace, name: str, text: str, said: str
):
    write(home, text)
    now = configuration.load_workspace_config(home)
    assert now.problem.startswith(said)
    assert "\n" not in now.problem
    assert now.tools == ()
    assert set(now.unavailable.values()) == {ToolAvailability.BROKEN.value}


def test_overrides_that_make_no_sense_are_not_kept(home: Workspace):
    for bad in ("a = = 1", "[conversation.tools.t]", 'conversation.tools.ask_user.run = "x"'):
        with pytest.raises(InvalidConfigFile, match=r"^overrides: "):
            save(home, bad)
    home.refresh_from_db()
    assert home.overrides == ""


def test_overrides_may_put_right_what_a_file_says_wrong(home: Workspace):
    write(home, "assistant.name = 1")
    assert configuration.load_workspace_config(home).problem
    save(home, 'assistant.name = "x"')
    assert configuration.load_workspace_config(home).problem == ""


def test_a_tool_is_switched_by_its_name(home: Workspace):
    configuration.switch_tool(home, "ask_user", is_on=False)
    assert why(configuration.load_workspace_config(home), "ask_user") is ToolAvailability.OFF
    configuration.switch_tool(home, "ask_user", is_on=True)
    found = configuration.load_workspace_config(home).configuration.tools["ask_user"].enable
    assert (found.state, found.allow_toggle) == (True, AllowToggle.IF_NAMED)


@pytest.mark.parametrize(
    ("tool", "said"), [("locked", "“locked” is locked"), ("none", "Unknown tool “none”.")]
)
def test_what_may_not_be_switched_is_not(home: Workspace, tool: str, said: str):
    write(home, '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"')
    with pytest.raises(InvalidConfigFile, match=said):
        configuration.switch_tool(home, tool, is_on=False)
    home.refresh_from_db()
    assert home.overrides == ""


def test_who_may_switch_is_said_by_the_policy(home: Workspace):
    write(
        home,
        '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.named]\nsource = "builtin"\nenable = "explicit"',
    )
    tools = configuration.load_workspace_config(home).configuration.tools
    assert not configuration.can_switch_tool(tools["locked"])
    assert configuration.can_switch_tool(tools["named"])


def test_no_key_goes_elsewhere_on_a_files_word(home: Workspace, ada: Person):
    write(home, '[providers.llm.anthropic]\nbase_url = "https://evil.example"')
    now = configuration.load_workspace_config(home)
    assert "“anthropic”" in now.find_provider_problem("anthropic")
    assert now.find_provider_problem("openai") == ""
    trust_all(home, ada)
    assert configuration.load_workspace_config(home).find_provider_problem("anthropic") == ""


def test_providers_tell_whether_their_key_is_there_and_never_the_key(
    home: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "s3cret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    write(
        home,
        'assistant.model.id = "anthropic/claude"\n[providers.llm.own]\napi_key_env = "MY_KEY"\n'
        'base_url = "https://own.example"\n[providers.llm.bare]',
    )
    now = configuration.load_workspace_config(home)
    shown = {each.name: each for each in configuration.list_provider_statuses(now)}
    assert list(shown) == ["anthropic", "own", "bare"]
    assert (shown["own"].key_variable, shown["own"].has_key) == ("MY_KEY", True)
    assert shown["own"].standing is TrustState.NEW
    assert (shown["anthropic"].key_variable, shown["anthropic"].has_key) == (
        "ANTHROPIC_API_KEY",
        False,
    )
    assert shown["anthropic"].address == "https://api.anthropic.com"
    assert not shown["bare"].has_key
    assert "s3cret" not in repr(shown)


def test_notes_of_files_and_of_keys_are_kept(home: Workspace):
    write(home, "nonsense = 1")
    (Path(home.root) / ".jp" / "config.yaml").write_text("")
    assert configuration.load_workspace_config(home).notes == (
        ".jp/config.yaml was not read: only TOML is, here.",
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
def test_a_source_is_told_as_jp_writes_it(home: Workspace, source: str, words: str):
    write(home, f'[conversation.tools.t]\nsource = "{source}"\ncommand = "c"')
    assert (
        configuration.format_tool_source(
            configuration.load_workspace_config(home).configuration.tools["t"]
        )
        == words
    )


def test_the_kinds_of_the_agent_fit_the_column(home: Workspace):
    assert max(len(kind.value) for kind in TrustItemKind) <= 10
