"""Access rules of local tools, and texts of parameters (docs/jp-format.md, Access rules)."""

from __future__ import annotations

import pytest

from jpweb.agent.config import AccessRule, ParameterText
from tests.agent.config.making import LOCAL, get_refusal, read_tool_config

HERE = "[conversation.tools.t]\n"
ACCESS = """access.fs = [
  {path = ".", read = true},
  {path = "vendor/lib", external = true, write = true, delete = false},
]
"""


def test_access_rules_are_read_and_those_of_layers_follow_each_other():
    config = read_tool_config(f"{LOCAL}{ACCESS}", f'{LOCAL}access.fs = [{{path = "src"}}]')
    assert config.access == (
        AccessRule(".", read=True),
        AccessRule("vendor/lib", external=True, write=True, delete=False),
        AccessRule("src"),
    )
    annotated = 'access.fs = {value = [{path = "src"}], strategy = "replace"}'
    assert read_tool_config(f"{LOCAL}{ACCESS}", f"{LOCAL}{annotated}").access == (
        AccessRule("src"),
    )


@pytest.mark.parametrize("toml", ["access = {}", "access.fs = []"])
def test_access_without_rules_is_an_empty_policy(toml: str):
    assert read_tool_config(f"{LOCAL}{toml}").access == ()


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('access.net = ["x"]', 'access.net is ["x"]. It must be fs, the only kind of access.'),
        ('access.fs = "a"', 'access.fs is "a". It must be a list'),
        ('access.fs = ["a"]', 'path is "a". It must be in a table'),
        ("access.fs = [{}]", "path is missing. It must be a path in the workspace."),
        ('access.fs = [{path = "a", read = 1}]', "read is 1. It must be true or false."),
        ('access.fs = [{path = "a", reed = true}]', "reed is true. It must be one of path,"),
    ],
)
def test_access_rules_of_another_form_are_refused(toml: str, expected: str):
    assert expected in get_refusal(f"{HERE}{LOCAL}{toml}")


@pytest.mark.parametrize(("source", "kind"), [("mcp.s", "mcp"), ("builtin", "builtin")])
def test_access_is_refused_on_tools_that_are_not_local(source: str, kind: str):
    text = get_refusal(f'{HERE}source = "{source}"\naccess = {{}}')
    assert f"access is only supported on local tools, and t is a {kind} tool." in text


def test_a_parameter_has_its_texts_for_describe_tools():
    config = read_tool_config(
        f"{LOCAL}parameters.p = "
        '{type = "string", summary = "S", description = "D", examples = "E"}'
    )
    assert config.parameter_texts == {"p": ParameterText("S", "D", "E")}
    assert config.parameters["properties"]["p"] == {"type": "string", "description": "S"}
