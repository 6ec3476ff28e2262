from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import AllowToggle, EnableConfig, ToolConfig
from jpweb.agent.config.toggles import toggle_tools
from jpweb.agent.errors import InvalidConfiguration
from tests.agent.config.making import LOCAL, get_refusal, read_tool_config

ANY, NEVER, IF_NAMED = AllowToggle.ANY, AllowToggle.NEVER, AllowToggle.IF_NAMED
GROUP = AllowToggle.IF_NAMED_OR_GROUP


@pytest.mark.parametrize(
    ("toml_value", "expected"),
    [
        ("true", EnableConfig(True, ANY)),
        ('"on"', EnableConfig(True, ANY)),
        ("false", EnableConfig(False, ANY)),
        ('"off"', EnableConfig(False, ANY)),
        ('"always"', EnableConfig(True, NEVER)),
        ('"explicit"', EnableConfig(False, IF_NAMED)),
        ("{}", EnableConfig(True, ANY)),
        ("{state = false}", EnableConfig(False, ANY)),
        ('{allow_toggle = "if_named_or_group"}', EnableConfig(True, GROUP)),
        ('{state = false, allow_toggle = "never"}', EnableConfig(False, NEVER)),
    ],
)
def test_enable_shorthand_sets_state_and_allow_toggle(toml_value: str, expected: EnableConfig):
    assert read_tool_config(f"{LOCAL}enable = {toml_value}").enable == expected


def test_tool_is_enabled_and_switchable_by_default():
    assert read_tool_config(LOCAL).enable == EnableConfig(True, ANY)


def test_enable_fields_fall_back_to_defaults_independently():
    explicit = 'enable = "explicit"'
    assert read_tool_config(LOCAL, defaults=explicit).enable == EnableConfig(False, IF_NAMED)
    assert read_tool_config(
        f"{LOCAL}enable = {{state = true}}", defaults=explicit
    ).enable == EnableConfig(True, IF_NAMED)


def test_layer_that_sets_one_field_keeps_the_other_of_a_shorthand():
    config = read_tool_config(f'{LOCAL}enable = "explicit"', "enable = {state = true}")
    assert config.enable == EnableConfig(True, IF_NAMED)
    assert read_tool_config("enable = {state = false}", name="ask_user").enable == EnableConfig(
        False, IF_NAMED
    )


def test_shorthand_of_a_later_layer_sets_state_and_allow_toggle():
    assert read_tool_config(f'{LOCAL}enable = "always"', "enable = false").enable == EnableConfig(
        False, ANY
    )


@pytest.mark.parametrize("toml_value", ['"maybe"', "1", "[true]", '""'])
def test_invalid_enable_setting_is_refused_with_allowed_values(toml_value: str):
    message = get_refusal(f"[conversation.tools.t]\n{LOCAL}enable = {toml_value}")
    assert message.startswith("0.toml: conversation.tools.t.enable is ")
    assert message.endswith(
        '"on", "off", "always", "explicit" or a table of state and allow_toggle.'
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('{allow_toggle = "always"}', 'enable.allow_toggle is "always". It must be any, never,'),
        ("{state = 1}", "enable.state is 1. It must be true or false."),
        (
            "{stat = true}",
            "enable.stat is not known. Only state and allow_toggle are allowed here.",
        ),
    ],
)
def test_invalid_enable_table_is_refused(table: str, expected: str):
    assert expected in get_refusal(f"[conversation.tools.t]\n{LOCAL}enable = {table}")


def tools(state: bool) -> dict[str, ToolConfig]:
    return {
        allow_toggle.value: ToolConfig(
            allow_toggle.value, "", {}, enable=EnableConfig(state, allow_toggle)
        )
        for allow_toggle in AllowToggle
    }


def states(configs: dict[str, ToolConfig]) -> set[str]:
    return {name for name, config in configs.items() if config.enable.state}


@pytest.mark.parametrize("state", [True, False])
def test_toggle_all_switches_only_tools_with_allow_toggle_any(state: bool):
    changes = states(toggle_tools(tools(state), {}, not state)) ^ states(tools(state))
    assert changes == {"any"}


@pytest.mark.parametrize("state", [True, False])
def test_toggle_by_name_switches_all_but_locked_tools(state: bool):
    for name in ("any", "if_named", "if_named_or_group"):
        changes = states(toggle_tools(tools(state), {name: not state})) ^ states(tools(state))
        assert changes == {name}
    locked = "enabled" if state else "disabled"
    with pytest.raises(InvalidConfiguration, match=rf"“never” is locked \({locked}\)"):
        toggle_tools(tools(state), {"never": not state})


def test_toggling_a_locked_tool_to_its_own_state_changes_nothing():
    assert toggle_tools(tools(True), {"never": True}) == tools(True)


def test_tools_named_one_by_one_override_toggling_all():
    assert states(toggle_tools(tools(True), {"any": True}, False)) == states(tools(True))


def test_a_name_that_no_tool_has_is_refused():
    with pytest.raises(InvalidConfiguration, match="Unknown tool “x”"):
        toggle_tools({}, {"x": True})


@given(
    st.booleans(),
    st.dictionaries(st.sampled_from(["any", "if_named"]), st.booleans()),
    st.none() | st.booleans(),
)
def test_toggle_tools_keeps_allow_toggle(
    state: bool, toggles: dict[str, bool], toggle_all: bool | None
):
    before = tools(state)
    after = toggle_tools(before, toggles, toggle_all)
    assert before == tools(state)
    assert {n: t.enable.allow_toggle for n, t in after.items()} == {
        n: t.enable.allow_toggle for n, t in before.items()
    }
    assert toggle_tools(after, toggles, toggle_all) == after
