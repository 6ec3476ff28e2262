from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.agent.config import QuestionConfig, ToolConfig
from jpweb.agent.config.layers import Layer, find_origin
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.table_reader import TableReader
from tests.agent.config.making import (
    LOCAL,
    get_refusal,
    make_layers,
    read_configuration,
    read_tool_config,
)


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ('providers.mcp.x = {url = "https://x", headers = "s3cret"}', "x.headers"),
        ('providers.mcp.x.url = "htps://me:s3cret@x"', "x.url"),
        ('providers.mcp.x.url = "x?key=s3cret"', "x.url"),
        ('providers.mcp.x.url = ["https://me:s3cret@x"]', "x.url"),
        ('providers.mcp.x = "https://me:s3cret@x"', "mcp.x"),
        ('providers.mcp = [{url = "s3cret"}]', "providers.mcp"),
        ('providers.mcp.x = {command = "c", variables = ["A=s3cret"]}', "x.variables"),
        ('providers.mcp.x = {command = "c", variables = {A = "s3cret"}}', "x.variables"),
        ('providers.mcp.x = {command = "c", arguments = "--token s3cret"}', "x.arguments"),
        ('providers.mcp.x = {command = {a = "s3cret"}}', "x.command"),
        ('providers.llm.x.base_url = "ftp://me:s3cret@x"', "x.base_url"),
        ('providers.llm.x.api_key_env = "sk-s3cret"', "x.api_key_env"),
        ('conversation.tools.ask_user.questions.answer = "s3cret"', "questions.answer"),
        ('conversation.tools.ask_user.options = "s3cret"', "ask_user.options"),
    ],
)
def test_config_error_omits_values_that_may_be_secret(toml: str, key: str):
    message = get_refusal("", toml)
    assert "s3cret" not in message
    assert message.startswith("1.toml: ")
    assert f"{key} " in message


# how long a question waits (jpweb's own)


@pytest.mark.parametrize(
    ("toml_value", "seconds"),
    [
        ("1", 1.0),
        ("900", 900.0),
        ('"90s"', 90.0),
        ('"15m"', 900.0),
        ('"2h"', 7_200.0),
        ('"3d"', 259_200.0),
        ('"366d"', 31_622_400.0),
    ],
)
def test_a_questions_expiry_is_read_as_seconds(toml_value: str, seconds: float):
    config = read_tool_config(f"{LOCAL}questions.q.expires_after = {toml_value}")
    assert config.get_question("q").expires_after == seconds
    assert config.get_question("other").expires_after is None


@pytest.mark.parametrize(
    "toml_value",
    [
        *("0", "-1", "1.5", "true", "31622401", "[90]", '"90"', '"90 s"', '"0s"', '"1w"', '"1.5h"'),
        *('"-1s"', '"367d"', '""', '"٣d"', '"9999999999s"', '"1h30m"'),
    ],
)
def test_question_expiry_that_is_no_time_span_is_refused_with_its_key(toml_value: str):
    message = get_refusal(
        "", f"conversation.tools.ask_user.questions.answer.expires_after = {toml_value}"
    )
    assert message.startswith("1.toml: conversation.tools.ask_user.questions.answer.expires_after ")
    assert message.endswith(
        "It must be seconds as a whole number, or like 90s, 15m, 2h or 3d; at most 366d."
    )


def test_owner_override_of_an_expiry_keeps_other_question_fields():
    below = f'{LOCAL}questions.q = {{target = "assistant", expires_after = 60}}'
    question: Any = read_tool_config(below, 'questions.q.expires_after = "1h"').get_question("q")
    assert (question.expires_after, question.target) == (3_600.0, "assistant")
    assert (
        read_tool_config(below, 'questions.q.prompt_label = "L"').get_question("q").expires_after
        == 60.0
    )


def test_question_expiry_is_a_known_config_key():
    assert (
        read_configuration(f"[conversation.tools.t]\n{LOCAL}questions.q.expires_after = 60").notes
        == ()
    )


def test_question_expiry_of_a_built_in_holds_unless_configured():
    builtin = ToolConfig("t", "", {}, {"q": QuestionConfig(expires_after=60.0)})
    for toml, expected in (('prompt_label = "L"', 60.0), ("expires_after = 90", 90.0)):
        toml_layers = make_layers(f"[conversation.tools.t.questions.q]\n{toml}")
        assert (
            load_configuration(toml_layers, [builtin]).tools["t"].get_question("q").expires_after
            == expected
        )


# the layers of a table


def test_a_table_has_the_layers_that_set_it():
    """Each of 5,000 tools looked through all of 500 layers, for 18 s."""
    layers = make_layers("a.b.c = 1", "a.x = 1", "z = 1", "a.b.d = 2")
    root = TableReader.from_layers(layers)
    names = {
        path: [layer.name for layer in root.descend(path.split(".")).layers]
        for path in ("a", "a.b", "a.b.none", "none")
    }
    everything = ["0.toml", "1.toml", "2.toml", "3.toml"]
    assert names == {
        "a": ["0.toml", "1.toml", "3.toml"],
        "a.b": ["0.toml", "3.toml"],
        "a.b.none": ["0.toml", "3.toml"],
        "none": everything,
    }


KEYS = st.sampled_from("abc")
TABLES: Any = st.dictionaries(
    KEYS, st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers(), max_size=2), max_size=2)
)


@given(st.lists(TABLES, min_size=1, max_size=4), st.lists(KEYS, max_size=2), KEYS)
def test_a_key_of_a_table_is_located_as_among_all_layers(
    tables: list[Any], path: list[str], key: str
):
    layers = [Layer(str(number), table) for number, table in enumerate(tables)]
    table = TableReader.from_layers(layers).descend(path)
    place = f"{find_origin(layers, (*path, key))}: {'.'.join((*path, key))}"
    assert table.locate_key(key) == place
    notes: list[str] = []
    TableReader(layers, tuple(path), {key: 1}, notes).note_unknown_keys()
    assert notes == [f"{place} is not known and was ignored."]
