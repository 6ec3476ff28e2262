from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.agent.config import AllowToggle, Command
from jpweb.agent.config.trust import WantedKind
from jpweb.runtime import configuration
from jpweb.runtime.configuration import Current, Why
from jpweb.store.errors import BadFile, Outdated
from jpweb.store.models import Person, Workspace
from jpweb.store.owners import overrides, trust
from jpweb.store.owners.trust import Standing
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
        (thing.wanted.kind.value, thing.wanted.name, thing.wanted.fingerprint)
        for thing in configuration.current(home).things
    ]
    configuration.give(home, seen, person)


def save(home: Workspace, text: str) -> None:
    configuration.save_overrides(home, text, overrides.digest(home.overrides))


def why(now: Current, name: str) -> Why:
    return next(offer.why for offer in now.offers if offer.tool.name == name)


def names(now: Current) -> set[str]:
    return {tool.name for tool in now.tools}


def test_without_any_configuration_the_built_ins_are_offered(home: Workspace):
    now = configuration.current(home)
    assert {"ask_user", "demo_vault"} <= names(now)
    assert (now.problem, now.notes, now.unavailable, now.things) == ("", (), {}, ())


def test_the_overrides_lie_over_the_files(home: Workspace):
    write(home, 'assistant.name = "file"\nassistant.model.id = "a/b"')
    save(home, 'assistant.name = "owner"')
    found = configuration.current(home).configuration.assistant
    assert (found.name, found.model.name) == ("owner", "b")


def test_nothing_runs_until_an_owner_has_seen_it(home: Workspace, ada: Person):
    write(home, LOCAL)
    before = configuration.current(home)
    assert why(before, "t") is Why.NEW
    assert "t" not in names(before)
    assert before.unavailable["t"] == Why.NEW.value
    trust_all(home, ada)
    after = configuration.current(home)
    assert "t" in names(after)
    assert after.unavailable == {}
    assert trust.given(home.pk)["tool", "t"].trusted_by == ada


def test_a_command_that_changes_asks_again_and_shows_how(home: Workspace, ada: Person):
    write(home, LOCAL)
    trust_all(home, ada)
    write(home, LOCAL.replace("{{context}}", "--all"))
    now = configuration.current(home)
    assert why(now, "t") is Why.CHANGED
    (thing,) = now.things
    assert [(line.change, line.text) for line in thing.difference] == [
        ("same", "program: run"),
        ("removed", "argument 1: {{context}}"),
        ("added", "argument 1: --all"),
    ]
    write(home, LOCAL)
    assert why(configuration.current(home), "t") is Why.OFFERED
    assert configuration.current(home).things[0].difference == []


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
    now = configuration.current(home)
    assert why(now, tool) in (Why.CHANGED, Why.SERVER_CHANGED)
    assert now.things[0].difference
    trust_all(home, ada)
    assert why(configuration.current(home), tool) is Why.OFFERED
    later.unlink()  # a gate that a file had closed
    assert why(configuration.current(home), tool) in (Why.CHANGED, Why.SERVER_CHANGED)


@pytest.mark.parametrize("said", [said for said in GATES if "questions" not in said])
def test_what_a_file_says_of_all_tools_counts_for_each(home: Workspace, ada: Person, said: str):
    write(home, LOCAL + SERVED)
    trust_all(home, ada)
    write(home, f'{LOCAL}{SERVED}[conversation.tools."*"]\n{said}')
    now = configuration.current(home)
    assert (why(now, "t"), why(now, "m")) == (Why.CHANGED, Why.SERVER_CHANGED)


@pytest.mark.parametrize("said", GATES)
@pytest.mark.parametrize(("text", "tool"), [(LOCAL, "t"), (SERVED, "m")])
def test_a_gate_in_the_overrides_is_an_owners_own_word(
    home: Workspace, ada: Person, text: str, tool: str, said: str
):
    write(home, text)
    trust_all(home, ada)
    save(home, f"[conversation.tools.{tool}]\n{said}")
    assert why(configuration.current(home), tool) is Why.OFFERED


def test_the_overrides_hide_no_gate_that_a_file_drops(home: Workspace, ada: Person):
    write(home, LOCAL)
    save(home, 'conversation.tools.t.run = "ask"')
    trust_all(home, ada)
    write(home, f'{LOCAL}run = "unattended"')
    assert why(configuration.current(home), "t") is Why.CHANGED


def test_overrides_may_put_right_a_gate_that_a_file_says_wrong(home: Workspace):
    write(home, f'{LOCAL}run = "sometimes"')
    save(home, 'conversation.tools.t.run = "unattended"')
    now = configuration.current(home)
    assert (now.problem, why(now, "t")) == ("", Why.NEW)
    assert "approval: none" in now.things[0].wanted.shown


def test_a_built_in_whose_gates_a_file_opens_waits_for_trust(home: Workspace, ada: Person):
    write(home, "conversation.tools.ask_user.questions.answer.answer = true")
    assert why(configuration.current(home), "ask_user") is Why.NEW
    trust_all(home, ada)
    assert why(configuration.current(home), "ask_user") is Why.OFFERED
    write(home, "conversation.tools.ask_user.questions.answer.answer = false")
    now = configuration.current(home)
    assert why(now, "ask_user") is Why.CHANGED
    assert now.things[0].difference[-1].text == "(a value that is not shown has changed)"


def test_an_owner_opens_the_gates_of_a_built_in_without_more_ado(home: Workspace):
    save(home, "conversation.tools.ask_user.questions.answer.answer = true")
    assert configuration.current(home).things == ()


def test_all_tools_are_switched_but_those_that_must_be_named_or_are_locked(home: Workspace):
    write(
        home,
        f'{LOCAL}[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.u]\nsource = "local"\ncommand = "x"\nenable = false',
    )
    left = ["ask_user", "describe_tools", "locked"]
    assert configuration.switch_all(home, on=False) == left
    tools = configuration.current(home).configuration.tools
    assert {name for name, tool in tools.items() if tool.enable.state} == set(left)
    assert "[conversation.tools.u]" not in home.overrides
    configuration.switch_tool(home, "ask_user", on=False)
    assert configuration.switch_all(home, on=True) == ["ask_user"]
    tools = configuration.current(home).configuration.tools
    assert {name for name, tool in tools.items() if not tool.enable.state} == {"ask_user"}


def test_an_address_with_a_key_in_it_is_shown_to_nobody(home: Workspace):
    write(home, '[providers.llm.own]\nbase_url = "https://me:s3cret@x/v1?key=s3cret"')
    now = configuration.current(home)
    assert [each.address for each in configuration.vendors(now)] == ["https://…@x/v1?…"]
    assert "s3cret" not in now.things[0].wanted.shown
    assert now.configuration.providers["own"].base_url == "https://me:s3cret@x/v1?key=s3cret"


def test_what_changes_between_look_and_click_is_not_trusted(home: Workspace, ada: Person):
    write(home, LOCAL)
    (thing,) = configuration.current(home).things
    write(home, LOCAL.replace("run", "rm"))
    with pytest.raises(Outdated, match="“t” has changed since you opened the page"):
        configuration.give(home, [("tool", "t", thing.wanted.fingerprint)], ada)
    assert trust.given(home.pk) == {}


def test_several_are_trusted_together_or_not_at_all(home: Workspace, ada: Person):
    write(home, LOCAL)
    (thing,) = configuration.current(home).things
    with pytest.raises(Outdated):
        configuration.give(
            home, [("tool", "t", thing.wanted.fingerprint), ("tool", "gone", "x")], ada
        )
    assert trust.given(home.pk) == {}


def test_trust_that_is_withdrawn_ends_the_offer(home: Workspace, ada: Person):
    write(home, LOCAL)
    trust_all(home, ada)
    assert configuration.withdraw(home, [("tool", "t")]) == 1
    assert why(configuration.current(home), "t") is Why.NEW


def test_a_tool_of_a_server_waits_for_its_server(home: Workspace, ada: Person):
    write(home, SERVED)
    assert why(configuration.current(home), "m") is Why.SERVER_NEW
    trust_all(home, ada)
    now = configuration.current(home)
    assert why(now, "m") is Why.OFFERED
    assert now.server("s") is Standing.TRUSTED
    write(home, SERVED.replace('"serve"', '"other"'))
    assert why(configuration.current(home), "m") is Why.SERVER_CHANGED
    write(home, SERVED.partition("[providers")[0])
    assert why(configuration.current(home), "m") is Why.NO_SERVER


def test_a_formatter_that_is_not_trusted_is_left_out(home: Workspace, ada: Person):
    write(home, '[conversation.tools.ask_user]\nstyle.parameters = "fmt"')

    def formatter() -> Command | None:
        return next(t for t in configuration.current(home).tools if t.name == "ask_user").formatter

    assert formatter() is None
    trust_all(home, ada)
    assert formatter() == Command("fmt")


def test_a_tool_that_is_off_is_not_offered_whatever_is_trusted(home: Workspace, ada: Person):
    write(home, f"{LOCAL}enable = false")
    trust_all(home, ada)
    assert why(configuration.current(home), "t") is Why.OFF


def test_a_built_in_that_jpweb_has_not_is_not_offered(home: Workspace):
    write(home, '[conversation.tools.unheard]\nsource = "builtin"')
    assert why(configuration.current(home), "unheard") is Why.NO_BUILTIN


BROKEN = [
    ("config.toml", "a = = 1", ".jp/config.toml: not TOML: Invalid value (at line 1, column 5)"),
    ("config.toml", "[conversation.tools.t]", ".jp/config.toml: conversation.tools.t.source is mi"),
]


@pytest.mark.parametrize(("name", "text", "said"), BROKEN)
def test_a_broken_file_offers_nothing_and_says_so_in_one_line(
    home: Workspace, name: str, text: str, said: str
):
    write(home, text)
    now = configuration.current(home)
    assert now.problem.startswith(said)
    assert "\n" not in now.problem
    assert now.tools == ()
    assert set(now.unavailable.values()) == {Why.BROKEN.value}


def test_overrides_that_make_no_sense_are_not_kept(home: Workspace):
    for bad in ("a = = 1", "[conversation.tools.t]", 'conversation.tools.ask_user.run = "x"'):
        with pytest.raises(BadFile, match=r"^overrides: "):
            save(home, bad)
    home.refresh_from_db()
    assert home.overrides == ""


def test_overrides_may_put_right_what_a_file_says_wrong(home: Workspace):
    write(home, "assistant.name = 1")
    assert configuration.current(home).problem
    save(home, 'assistant.name = "x"')
    assert configuration.current(home).problem == ""


def test_a_tool_is_switched_by_its_name(home: Workspace):
    configuration.switch_tool(home, "ask_user", on=False)
    assert why(configuration.current(home), "ask_user") is Why.OFF
    configuration.switch_tool(home, "ask_user", on=True)
    found = configuration.current(home).configuration.tools["ask_user"].enable
    assert (found.state, found.allow_toggle) == (True, AllowToggle.IF_NAMED)


@pytest.mark.parametrize(
    ("tool", "said"), [("locked", "“locked” is locked"), ("none", "Unknown tool “none”.")]
)
def test_what_may_not_be_switched_is_not(home: Workspace, tool: str, said: str):
    write(home, '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"')
    with pytest.raises(BadFile, match=said):
        configuration.switch_tool(home, tool, on=False)
    home.refresh_from_db()
    assert home.overrides == ""


def test_who_may_switch_is_said_by_the_policy(home: Workspace):
    write(
        home,
        '[conversation.tools.locked]\nsource = "builtin"\nenable = "always"\n'
        '[conversation.tools.named]\nsource = "builtin"\nenable = "explicit"',
    )
    tools = configuration.current(home).configuration.tools
    assert not configuration.may_switch(tools["locked"])
    assert configuration.may_switch(tools["named"])


def test_no_key_goes_elsewhere_on_a_files_word(home: Workspace, ada: Person):
    write(home, '[providers.llm.anthropic]\nbase_url = "https://evil.example"')
    now = configuration.current(home)
    assert "“anthropic”" in now.provider_problem("anthropic")
    assert now.provider_problem("openai") == ""
    trust_all(home, ada)
    assert configuration.current(home).provider_problem("anthropic") == ""


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
    now = configuration.current(home)
    shown = {each.name: each for each in configuration.vendors(now)}
    assert list(shown) == ["anthropic", "own", "bare"]
    assert (shown["own"].variable, shown["own"].key_is_there) == ("MY_KEY", True)
    assert shown["own"].standing is Standing.NEW
    assert (shown["anthropic"].variable, shown["anthropic"].key_is_there) == (
        "ANTHROPIC_API_KEY",
        False,
    )
    assert shown["anthropic"].address == "https://api.anthropic.com"
    assert not shown["bare"].key_is_there
    assert "s3cret" not in repr(shown)


def test_notes_of_files_and_of_keys_are_kept(home: Workspace):
    write(home, "nonsense = 1")
    (Path(home.root) / ".jp" / "config.yaml").write_text("")
    assert configuration.current(home).notes == (
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
    assert configuration.source_words(configuration.current(home).configuration.tools["t"]) == words


def test_the_kinds_of_the_agent_fit_the_column(home: Workspace):
    assert max(len(kind.value) for kind in WantedKind) <= 10
