from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import AllowToggle, Enable, ToolConfig
from jpweb.agent.config.toggles import toggle_tools
from jpweb.agent.errors import InvalidConfiguration
from tests.agent.config.making import LOCAL, refused, tool

ANY, NEVER, IF_NAMED = AllowToggle.ANY, AllowToggle.NEVER, AllowToggle.IF_NAMED
GROUP = AllowToggle.IF_NAMED_OR_GROUP


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", Enable(True, ANY)),
        ('"on"', Enable(True, ANY)),
        ("false", Enable(False, ANY)),
        ('"off"', Enable(False, ANY)),
        ('"always"', Enable(True, NEVER)),
        ('"explicit"', Enable(False, IF_NAMED)),
        ("{}", Enable(True, ANY)),
        ("{state = false}", Enable(False, ANY)),
        ('{allow_toggle = "if_named_or_group"}', Enable(True, GROUP)),
        ('{state = false, allow_toggle = "never"}', Enable(False, NEVER)),
    ],
)
def test_enable_has_a_word_for_each_usual_setting(written: str, meant: Enable):
    assert tool(f"{LOCAL}enable = {written}").enable == meant


def test_a_tool_is_on_and_anybody_may_switch_it_where_nothing_is_said():
    assert tool(LOCAL).enable == Enable(True, ANY)


def test_each_field_falls_back_by_itself_to_the_defaults():
    explicit = 'enable = "explicit"'
    assert tool(LOCAL, defaults=explicit).enable == Enable(False, IF_NAMED)
    assert tool(f"{LOCAL}enable = {{state = true}}", defaults=explicit).enable == Enable(
        True, IF_NAMED
    )


def test_a_layer_that_sets_one_field_keeps_the_other_even_of_a_word():
    found = tool(f'{LOCAL}enable = "explicit"', "enable = {state = true}")
    assert found.enable == Enable(True, IF_NAMED)
    assert tool("enable = {state = false}", name="ask_user").enable == Enable(False, IF_NAMED)


def test_a_word_above_says_both_fields():
    assert tool(f'{LOCAL}enable = "always"', "enable = false").enable == Enable(False, ANY)


@pytest.mark.parametrize("written", ['"maybe"', "1", "[true]", '""'])
def test_what_is_no_setting_is_refused_with_what_is(written: str):
    said = refused(f"[conversation.tools.t]\n{LOCAL}enable = {written}")
    assert said.startswith("0.toml: conversation.tools.t.enable is ")
    assert said.endswith('"on", "off", "always", "explicit" or a table of state and allow_toggle.')


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('{allow_toggle = "always"}', 'enable.allow_toggle is "always". It must be any, never,'),
        ("{state = 1}", "enable.state is 1. It must be true or false."),
        ("{stat = true}", "enable.stat is not known. Here are only state and allow_toggle."),
    ],
)
def test_a_table_of_enable_is_strict(table: str, said: str):
    assert said in refused(f"[conversation.tools.t]\n{LOCAL}enable = {table}")


def tools(state: bool) -> dict[str, ToolConfig]:
    return {
        each.value: ToolConfig(each.value, "", {}, enable=Enable(state, each))
        for each in AllowToggle
    }


def states(found: dict[str, ToolConfig]) -> set[str]:
    return {name for name, each in found.items() if each.enable.state}


@pytest.mark.parametrize("state", [True, False])
def test_all_at_once_switches_only_those_that_anything_may_switch(state: bool):
    changed = states(toggle_tools(tools(state), {}, not state)) ^ states(tools(state))
    assert changed == {"any"}


@pytest.mark.parametrize("state", [True, False])
def test_by_name_switches_all_but_the_locked(state: bool):
    for name in ("any", "if_named", "if_named_or_group"):
        changed = states(toggle_tools(tools(state), {name: not state})) ^ states(tools(state))
        assert changed == {name}
    locked = "enabled" if state else "disabled"
    with pytest.raises(InvalidConfiguration, match=rf"“never” is locked \({locked}\)"):
        toggle_tools(tools(state), {"never": not state})


def test_a_locked_tool_may_be_asked_to_stay_as_it_is():
    assert toggle_tools(tools(True), {"never": True}) == tools(True)


def test_names_come_after_all():
    assert states(toggle_tools(tools(True), {"any": True}, False)) == states(tools(True))


def test_a_name_that_no_tool_has_is_refused():
    with pytest.raises(InvalidConfiguration, match="Unknown tool “x”"):
        toggle_tools({}, {"x": True})


@given(
    st.booleans(),
    st.dictionaries(st.sampled_from(["any", "if_named"]), st.booleans()),
    st.none() | st.booleans(),
)
def test_who_may_switch_never_changes(state: bool, named: dict[str, bool], every: bool | None):
    before = tools(state)
    found = toggle_tools(before, named, every)
    assert before == tools(state)
    assert {n: t.enable.allow_toggle for n, t in found.items()} == {
        n: t.enable.allow_toggle for n, t in before.items()
    }
    assert toggle_tools(found, named, every) == found
