from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.config import (
    AccessRule,
    ApprovalMode,
    DetachedPolicy,
    InquiryConfig,
    ModelConfig,
    QuestionConfig,
    QuestionTarget,
    SettingPlace,
    StaticAnswer,
    ToolCommand,
    ToolSource,
)
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.types import BuiltinSource, LocalSource, McpSource
from jpweb.agent.tools.ask_user import AskUser
from tests.agent.config.making import (
    LOCAL,
    OWN,
    get_refusal,
    make_layers,
    read_configuration,
    read_tool_config,
)

ASK, UNATTENDED, EDIT, SKIP = ApprovalMode
HERE = "[conversation.tools.t]\n"


def test_built_in_tools_are_there_by_themselves():
    assert list(read_configuration("").tools.values()) == OWN


def test_built_in_tool_keeps_fields_that_a_layer_omits():
    """RFD 083, Phase 1, step 3."""
    plain = read_configuration("").tools["ask_user"]
    label = read_tool_config('questions.answer.prompt_label = "Me"', name="ask_user")
    assert label.questions == {"answer": QuestionConfig(prompt_label="Me")}
    assert (label.description, label.parameters, label.enable, label.run) == (
        plain.description,
        plain.parameters,
        plain.enable,
        plain.run,
    )
    config = read_tool_config(
        'description = "Ask!"\nsummary = "short"\nexamples = "e"', name="ask_user"
    )
    assert (config.description, config.model_description, config.examples) == ("Ask!", "short", "e")
    assert config.questions == plain.questions


def test_a_built_in_does_not_ask_before_it_runs_even_where_all_others_do():
    defaults = 'run = "ask"\nresult = "ask"\nenable = "explicit"'
    config = read_tool_config("", name="ask_user", defaults=defaults)
    assert (config.run, config.result) == (UNATTENDED, UNATTENDED)
    assert config.enable.state
    assert read_tool_config('run = "ask"', name="ask_user", defaults=defaults).run is ASK


def test_tool_config_can_replace_a_built_in_by_a_local_tool():
    config = read_tool_config('source = "local"\ncommand = "mine"', name="ask_user")
    assert config.source == LocalSource("ask_user", ToolCommand("mine"))
    assert config.description == AskUser.DESCRIPTION
    assert config.run is ASK


@pytest.mark.parametrize(
    ("toml_value", "expected"),
    [
        ('"builtin"', BuiltinSource()),
        ('"builtin.x"', BuiltinSource()),
        ('"local"', LocalSource("t", ToolCommand("true"))),
        ('"local.other.name"', LocalSource("other.name", ToolCommand("true"))),
        ('"mcp.s"', McpSource("s", "t")),
        ('"mcp.s.x.y"', McpSource("s", "x.y")),
    ],
)
def test_a_source_is_one_word_and_perhaps_names(toml_value: str, expected: ToolSource):
    assert read_tool_config(f'source = {toml_value}\ncommand = "true"').source == expected


@pytest.mark.parametrize(
    "source", [None, "mcp", "mcp.", "mcp.s.", "mcp..t", "local.", "remote", ""]
)
def test_tool_config_refuses_an_invalid_source(source: str | None):
    message = get_refusal(
        f"{HERE}description = 'x'" if source is None else f"{HERE}source = '{source}'"
    )
    assert message.startswith("0.toml: conversation.tools.t.source is ")
    assert message.endswith('"mcp.<server>" or "mcp.<server>.<tool>".')


@pytest.mark.parametrize(
    ("toml_value", "expected"),
    [
        ("\"just serve {{context}} 'a b'\"", ToolCommand("just", ("serve", "{{context}}", "a b"))),
        ('{program = "p"}', ToolCommand("p")),
        ('{program = "p q", args = ["a"], shell = true}', ToolCommand("p q", ("a",), True)),
    ],
)
def test_a_command_is_a_line_or_a_table(toml_value: str, expected: ToolCommand):
    assert read_tool_config(f'source = "local"\ncommand = {toml_value}').source == LocalSource(
        "t", expected
    )


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("", "t.command is missing. It must be a command line whose quotes are closed, or a table"),
        ('command = "a \'b"', "It must be a command line whose quotes are closed."),
        ('command = "a\\u0000"', r'is "a\x00". It must be a command line'),
        ("command = 1", "t.command is 1. It must be a command line"),
        ("command = {args = []}", "t.command.program is missing. It must be the name or path"),
        ('command = {program = "\\u0000"}', "It must be the name or path of a program."),
        ('command = {program = "p", args = ["\\u0000"]}', "strings without NUL."),
        ('command = {program = "p", args = "x"}', 'args is "x". It must be a list of strings.'),
        ('command = {program = "p", shell = 1}', "shell is 1. It must be true or false."),
    ],
)
def test_tool_config_refuses_an_invalid_command(toml: str, expected: str):
    assert expected in get_refusal(f'{HERE}source = "local"\n{toml}')


@pytest.mark.parametrize("line", ["", "   ", "''"])
def test_an_empty_command_loads_and_fails_when_the_tool_is_run(line: str):
    config = read_tool_config(f'source = "local"\ncommand = "{line}"')
    assert config.source == LocalSource("t", ToolCommand(""))


def test_tool_from_outside_asks_before_a_run_by_default():
    assert read_tool_config(LOCAL).run is read_tool_config('source = "mcp.s"').run is ASK
    assert read_tool_config('source = "builtin"').run is UNATTENDED
    assert read_tool_config(LOCAL).result is UNATTENDED
    assert read_tool_config(LOCAL, defaults='run = "edit"\nresult = "skip"').run is EDIT
    assert read_tool_config(LOCAL, defaults='run = "edit"\nresult = "skip"').result is SKIP
    assert read_tool_config(f'{LOCAL}run = "skip"', defaults='run = "edit"').run is SKIP


@pytest.mark.parametrize(
    ("texts", "name", "setting"),
    [
        ((LOCAL, 'run = "unattended"'), "t", "1.toml: conversation.tools.t.run"),
        ((f'{LOCAL}run = "ask"', 'result = "ask"'), "t", "0.toml: conversation.tools.t.run"),
        ((LOCAL,), "t", None),
        (('prompt_label = "x"',), "ask_user", None),
        (('run = "unattended"',), "ask_user", "0.toml: conversation.tools.ask_user.run"),
    ],
)
def test_setting_of_run_names_its_key_and_file(
    texts: tuple[str, ...], name: str, setting: str | None
):
    place = read_tool_config(*texts, name=name).run_setting
    assert (place and f"{place.file}: {place.setting}") == setting


@pytest.mark.parametrize(("name", "entry"), [("t", LOCAL), ("ask_user", "")])
def test_setting_of_run_for_all_tools_holds_for_tools_from_outside(name: str, entry: str):
    place = read_tool_config(entry, name=name, defaults='run = "unattended"').run_setting
    assert place == (SettingPlace("conversation.tools.*.run", "0.toml") if entry else None)


def test_fields_that_have_defaults_take_them():
    default_config = read_tool_config(LOCAL, defaults='cancellation_response = "no"')
    assert default_config.cancellation_response == "no"
    own_config = read_tool_config(
        f'{LOCAL}cancellation_response = ""', defaults='cancellation_response = "no"'
    )
    assert own_config.cancellation_response == ""


def test_options_and_access_are_handed_on():
    config = read_tool_config(f'{LOCAL}options = {{a = [1]}}\naccess = {{fs = [{{path = "x"}}]}}')
    assert config.options == {"a": [1]}
    assert config.access == (AccessRule("x"),)
    assert read_tool_config(LOCAL).access is None


@pytest.mark.parametrize("word", ['"json"', '"off"', '"function_call"'])
def test_a_style_of_jp_is_no_formatter(word: str):
    formatter = 'style.parameters = "fmt"'
    assert (
        read_tool_config(f"{LOCAL}style.parameters = {word}", defaults=formatter).formatter is None
    )


def test_tool_style_parameters_other_than_names_are_a_formatter():
    fmt = ToolCommand("fmt", ("{{tool}}",))
    toml = 'style.parameters = "fmt {{tool}}"'
    assert read_tool_config(f"{LOCAL}{toml}").formatter == fmt
    assert read_tool_config(LOCAL, defaults=toml).formatter == fmt
    assert read_tool_config(f"{LOCAL}style.hidden = true", defaults=toml).formatter == fmt
    assert read_tool_config(
        f'{LOCAL}style.parameters = {{program = "fmt", args = ["{{{{tool}}}}"]}}'
    ) == read_tool_config(f"{LOCAL}{toml}")
    assert read_tool_config(f"{LOCAL}style = 1").formatter is None


def test_parameters_become_the_schema_that_the_model_is_sent():
    config = read_tool_config(
        LOCAL
        + """
        [conversation.tools.t.parameters.path]
        type = "string"
        required = true
        summary = "Where."
        description = "Long."
        [conversation.tools.t.parameters.lines]
        type = ["array", "null"]
        description = "Which."
        default = [1]
        items = {type = "integer", required = false}
        [conversation.tools.t.parameters.mode]
        type = "string"
        enum = ["a", "b"]
        required = false
        [conversation.tools.t.parameters.deep]
        type = "object"
        properties = {x = {type = "boolean", required = true}, y = {}}
        """
    )
    assert config.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "lines": {
                "type": ["array", "null"],
                "description": "Which.",
                "default": [1],
                "items": {"type": "integer"},
            },
            "mode": {"type": "string", "enum": ["a", "b"]},
            "deep": {
                "type": "object",
                "properties": {"x": {"type": "boolean"}, "y": {}},
                "required": ["x"],
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
        "required": ["path"],
    }
    assert config.declared["path"]["description"] == "Long."


def test_a_tool_of_a_server_need_not_name_its_types():
    config = read_tool_config('source = "mcp.s"\nparameters.a = {required = true}')
    assert config.parameters["properties"] == {"a": {}}
    assert config.parameters["required"] == ["a"]


def test_parameters_of_a_built_in_are_laid_over_its_own():
    parameters = read_tool_config(
        'parameters.context = {required = true, summary = "Say why."}', name="ask_user"
    ).parameters
    assert parameters["required"] == ["question", "context"]
    assert parameters["properties"]["context"] == {"type": "string", "description": "Say why."}
    assert parameters["properties"]["question"] == AskUser.PARAMETERS["properties"]["question"]
    assert read_tool_config("parameters.question.required = true", name="ask_user").parameters[
        "required"
    ] == ["question"]


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("a = 1", "parameters.a is 1. It must be a table."),
        ("a = {}", "parameters.a.type is missing. It must be string, integer,"),
        ('a.type = "text"', 'a.type is "text". It must be string, integer, number,'),
        ("a.type = []", "boolean, array, object or null, or a list of these."),
        ('a = {type = "string", enum = 1}', "a.enum is 1. It must be a list of values."),
        ('a = {type = "string", required = 1}', "a.required is 1. It must be true or false."),
        ('a = {type = "array", items = 1}', "a.items is 1. It must be a table."),
    ],
)
def test_tool_config_refuses_an_invalid_parameter(toml: str, expected: str):
    assert expected in get_refusal(f"{HERE}{LOCAL}parameters.{toml}")


def question(entry: str, *above: str) -> QuestionConfig:
    config = read_tool_config(f"{LOCAL}{entry}", *above)
    assert list(config.questions) == ["q"]
    return config.get_question("q")


def test_a_question_says_who_answers_it():
    assert question("questions.q = {}") == QuestionConfig()
    assert question('questions.q.target = "user"').target is QuestionTarget.USER
    assert question('questions.q.target = "assistant"').target is QuestionTarget.ASSISTANT
    assert question('questions.q = {exclusive = true, prompt_label = "L"}') == QuestionConfig(
        exclusive=True, prompt_label="L"
    )


def test_an_assistant_of_its_own_may_answer_a_question():
    question_config = question(
        'questions.q.target = {model.id = "a/b", system_prompt = "s", '
        "request = {max_response_bytes = 0}}"
    )
    assert question_config.target is QuestionTarget.ASSISTANT
    assert question_config.inquiry == InquiryConfig(ModelConfig("a", "b"), "s", 0)
    assert question("questions.q.target = {}").inquiry == InquiryConfig()


@pytest.mark.parametrize(
    ("toml_value", "value"),
    [("true", True), ("false", False), ('"x"', "x"), ("0", 0), ("[1]", [1])],
)
def test_question_config_takes_any_value_as_static_answer(toml_value: str, value: Any):
    assert question(f"questions.q.answer = {toml_value}").answer == StaticAnswer(value)


def test_answer_of_null_in_json_is_no_static_answer():
    below = make_layers(f"[conversation.tools.t]\n{LOCAL}questions.q.answer = true")
    values = {"conversation": {"tools": {"t": {"questions": {"q": {"answer": None}}}}}}
    question_config = (
        load_configuration([*below, Layer("config.json", values)], OWN).tools["t"].get_question("q")
    )
    assert question_config.answer is None


def test_question_config_layer_with_one_field_keeps_the_others():
    question_config = question(
        'questions.q = {answer = true, target = "assistant"}', 'questions.q.target = "user"'
    )
    assert question_config == QuestionConfig(answer=StaticAnswer(True))


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('target = "model"', 'q.target is "model". It must be user or assistant, or a table.'),
        ("target = 1", "q.target is 1. It must be"),
        ('target.model.id = "x"', 'q.target.model.id is "x". It must be "provider/name".'),
        ("exclusive = 1", "q.exclusive is 1. It must be true or false."),
    ],
)
def test_tool_config_refuses_an_invalid_question_without_its_answer(toml: str, expected: str):
    message = get_refusal(f'{HERE}{LOCAL}questions.q.answer = "s3cret"\nquestions.q.{toml}')
    assert expected in message
    assert "s3cret" not in message


WAIT, DENY, AUTO = DetachedPolicy.WAIT, DetachedPolicy.DENY, DetachedPolicy.AUTO


@pytest.mark.parametrize(
    ("entry", "defaults", "expected"),
    [
        ("", "", {}),
        ('"wait"', "", {"run": WAIT, "deliver": WAIT, "tool": WAIT}),
        ('{tool = "auto"}', "", {"tool": AUTO}),
        ('{tool = "auto"}', '"deny"', {"run": DENY, "deliver": DENY, "tool": AUTO}),
        ('"wait"', '{run = "deny"}', {"run": WAIT, "deliver": WAIT, "tool": WAIT}),
        ("", '{run = "deny"}', {"run": DENY}),
    ],
)
def test_the_first_match_of_the_cascade_wins(entry: str, defaults: str, expected: Any):
    """RFD 049: tool and kind, tool, defaults and kind, defaults."""
    config = read_tool_config(
        LOCAL + (f"detached = {entry}" if entry else ""),
        defaults=f"detached = {defaults}" if defaults else "",
    )
    assert config.detached == expected


def test_a_layer_that_sets_one_policy_keeps_the_others():
    config = read_tool_config(f'{LOCAL}detached = "wait"', 'detached = {run = "deny"}')
    assert config.detached == {"run": DENY, "deliver": WAIT, "tool": WAIT}


@pytest.mark.parametrize(
    ("toml_value", "expected"),
    [
        ('"never"', 'detached is "never". It must be wait, deny, auto or defaults, or a table of'),
        ('{run = "x"}', 'detached.run is "x". It must be wait, deny, auto or defaults.'),
    ],
)
def test_tool_config_refuses_an_invalid_detached_policy(toml_value: str, expected: str):
    assert expected in get_refusal(f"{HERE}{LOCAL}detached = {toml_value}")


@pytest.mark.parametrize("name", ['"a b"', '""', '"a.b"', '"<script>"', f'"{"x" * 129}"'])
def test_a_name_that_no_model_could_call_is_refused(name: str):
    message = get_refusal(f"[conversation.tools.{name}]\n{LOCAL}")
    assert message.endswith("must have a name of 1 to 128 letters, digits, _ and -.")


def test_tools_and_each_tool_are_tables():
    assert "conversation.tools is 1. It must be a table." in get_refusal("conversation.tools = 1")
    assert "tools.t is 1. It must be a table." in get_refusal("conversation.tools.t = 1")
    assert "conversation is 1" in get_refusal("conversation = 1")
