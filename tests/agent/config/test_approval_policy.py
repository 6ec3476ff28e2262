"""A file that lets a trusted tool do more without a person is asked about (RFD 034, 049, 083)."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from jpweb.agent.config import Configuration, Mode
from jpweb.agent.config.approval_policy import is_opened, remove_gates
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.trust import TrustItem, extract_gates, hidden_fingerprint, list_trust_items
from tests.agent.config.making import LOCAL, OWN, layers, reading

SERVED = 'source = "mcp.s"\n'
SERVER = '[providers.mcp.s]\ncommand = "serve"\n'
QUESTION = "[conversation.tools.t.questions.confirm]\n"
#: What a file may say of a tool, and what is then shown of it.
LOOSER = {
    'run = "unattended"': "approval: none",
    'run = "skip"': "approval: always skipped",
    'run = "edit"': "approval: a person edits the arguments",
    'result = "ask"': "result: sent to the model after approval",
    'detached = "auto"': "approval, if no one can answer: none",
    'detached.run = "deny"': "approval, if no one can answer: denied",
    'detached.deliver = "auto"': "result, if no one can answer: sent to the model",
    'detached.tool = "defaults"': ("questions, if no one can answer: answered with their defaults"),
    f"{QUESTION}answer = true": "question confirm: configured answer (not shown)",
    f'{QUESTION}target = "assistant"': "question confirm: answered by a second model",
    f'{QUESTION}target = {{model.id = "a/b"}}': "question confirm: answered by a second model, a/b",
    f"{QUESTION}exclusive = false": "question confirm: human answer not required",
    f"{QUESTION}exclusive = true": "question confirm: human answer required",
}


def only(text: str) -> TrustItem:
    (found,) = list_trust_items(reading(text), builtins=OWN)
    return found


def entry(said: str, source: str = LOCAL) -> str:
    return f"[conversation.tools.t]\n{source}{said}\n"


@pytest.mark.parametrize("said", LOOSER)
def test_a_gate_of_a_command_is_shown_and_fingerprinted(said: str):
    before, after = only(entry("")), only(entry(said))
    assert before.runs == after.runs
    assert before.fingerprint != after.fingerprint
    assert LOOSER[said] in after.gates["t"]
    assert LOOSER[said] in after.display_text.splitlines()


@pytest.mark.parametrize("said", LOOSER)
def test_a_gate_of_a_servers_tool_is_shown_with_the_server(said: str):
    before, after = only(entry("", SERVED) + SERVER), only(entry(said, SERVED) + SERVER)
    assert before.name == after.name == "s"
    assert before.fingerprint != after.fingerprint
    assert LOOSER[said] in after.gates["t"]
    assert f"tool t, {LOOSER[said]}" in after.display_text.splitlines()


@pytest.mark.parametrize(
    "said", ['run = "unattended"', 'result = "skip"', 'detached = "auto"', 'detached.run = "auto"']
)
@pytest.mark.parametrize("rest", [LOCAL, SERVED])
def test_the_defaults_of_all_tools_count(said: str, rest: str):
    source = entry("", rest) + (SERVER if rest == SERVED else "")
    defaults = f'[conversation.tools."*"]\n{said}\n'
    found = {each.name: each for each in list_trust_items(reading(defaults + source))}
    assert found[only(source).name].fingerprint != only(source).fingerprint


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("answer = true", "answer = false"),
        ('target = {system_prompt = "x"}', 'target = {system_prompt = "say yes"}'),
    ],
)
def test_a_change_of_what_is_not_shown_is_told_to_be_one(before: str, after: str):
    one, other = only(entry(QUESTION + before)), only(entry(QUESTION + after))
    assert one.display_text == other.display_text
    assert one.fingerprint != other.fingerprint
    assert hidden_fingerprint(one.fingerprint) != hidden_fingerprint(other.fingerprint)
    assert "yes" not in repr(other)
    assert "not shown" in other.display_text


def test_a_name_that_would_mislead_the_eye_is_spelled_out():
    shown = only(entry('questions."\\n\\u202ex".answer = 1')).display_text
    assert shown.splitlines()[-1] == (r"question \n\u202ex: configured answer (not shown)")


def test_a_server_is_asked_about_again_when_a_name_leads_to_another_of_its_tools():
    before = only(entry("", SERVED) + SERVER)
    after = only(entry("", 'source = "mcp.s.delete"\n') + SERVER)
    assert after.gates["t"][0] == "name on the server: delete"
    assert before.fingerprint != after.fingerprint


def built_ins(text: str) -> list[str]:
    return [each.name for each in list_trust_items(reading(text), builtins=OWN)]


@pytest.mark.parametrize(
    "said",
    [
        "questions.answer.answer = true",
        'questions.answer.target = "assistant"',
        "questions.answer.exclusive = false",
        'detached = "auto"',
        'detached.tool = "defaults"',
    ],
)
def test_a_built_in_whose_gates_are_opened_is_asked_about(said: str):
    text = f"[conversation.tools.ask_user]\n{said}"
    assert built_ins(text) == ["ask_user"]
    assert only(text).runs == ""
    assert extract_gates(only(text).display_text).startswith("approval: none\n")


@pytest.mark.parametrize(
    "said",
    [
        'run = "ask"',
        'result = "edit"',
        'detached = "deny"',
        'questions.answer.prompt_label = "x"',
        "questions.answer.exclusive = true",
    ],
)
def test_a_built_in_that_is_held_more_tightly_is_not(said: str):
    assert built_ins(f"[conversation.tools.ask_user]\n{said}") == []


def test_a_default_that_opens_the_built_ins_asks_about_each():
    assert built_ins('[conversation.tools."*"]\ndetached = "auto"') == [each.name for each in OWN]
    assert built_ins('[conversation.tools."*"]\nrun = "unattended"') == []


def test_a_built_in_that_asks_by_itself_may_not_be_silenced():
    own = replace(OWN[0], run=Mode.ASK)
    assert is_opened(OWN[0], own)
    assert not is_opened(own, own)


OWNERS = """
[conversation.tools."*"]
run = "unattended"
detached = "auto"
[conversation.tools.t]
result = "skip"
summary = "kept"
[conversation.tools.t.questions.confirm]
answer = true
target = "assistant"
exclusive = false
prompt_label = "kept"
"""


def layered(text: str, above: str) -> tuple[Configuration, Configuration]:
    """Return the configuration, and that whose gates count."""
    *below, own = layers(text, above)
    return load_configuration([*below, own], OWN), load_configuration(
        [*below, remove_gates(own)], OWN
    )


def test_what_an_owner_types_needs_no_further_trust():
    text = entry("")
    whole, files = layered(text, OWNERS)
    assert whole.tools["t"].run is Mode.UNATTENDED
    assert files.tools["t"].summary == "kept"
    assert files.tools["t"].get_question("confirm").prompt_label == "kept"
    (found,) = list_trust_items(whole, files, OWN)
    assert found == only(text)


def test_what_an_owner_types_hides_nothing_that_a_file_says():
    whole, files = layered(entry('run = "unattended"'), 'conversation.tools.t.run = "ask"')
    (found,) = list_trust_items(whole, files, OWN)
    assert found == only(entry('run = "unattended"'))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "conversation = 1",
        "conversation.tools = 1",
        "conversation.tools.t = 1",
        "conversation.tools.t.questions = 1",
        "conversation.tools.t.questions.q = 1",
        "assistant.name = 'x'",
    ],
)
def test_what_says_nothing_of_gates_stays_as_it_is(text: str):
    layer = Layer("o", tomllib.loads(text))
    assert remove_gates(layer) == layer


def test_two_tools_of_one_command_are_shown_with_their_own_gates():
    found = list_trust_items(
        reading(f"[conversation.tools.a]\n{LOCAL}[conversation.tools.b]\n{LOCAL}run = 'edit'")
    )
    assert found[0].runs == found[1].runs
    assert found[0].gates["a"] != found[1].gates["b"]
