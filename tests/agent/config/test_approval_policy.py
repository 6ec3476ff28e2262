"""A file that lets a trusted tool do more without a person is asked about (RFD 034, 049, 083)."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from jpweb.agent.config import ApprovalMode, Configuration
from jpweb.agent.config.approval_policy import (
    SecondModel,
    describe_approval,
    is_opened,
    remove_gates,
)
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.trust import (
    TrustItem,
    cut_hidden_fingerprint,
    extract_gates,
    list_trust_items,
)
from tests.agent.config.making import LOCAL, OWN, make_layers, read_configuration

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


def read_single_item(text: str) -> TrustItem:
    (item,) = list_trust_items(read_configuration(text), builtins=OWN)
    return item


def entry(toml: str, source: str = LOCAL) -> str:
    return f"[conversation.tools.t]\n{source}{toml}\n"


@pytest.mark.parametrize("mode", ApprovalMode)
def test_describe_approval_has_the_words_of_gates_for_each_mode(mode: ApprovalMode):
    config = read_configuration(entry(f'run = "{mode}"\nresult = "{mode}"'))
    texts = describe_approval(config.tools["t"], SecondModel.from_configuration(config))
    gates = read_single_item(entry(f'run = "{mode}"\nresult = "{mode}"')).gates["t"]
    assert gates[:2] == (f"approval: {texts.run}", f"result: {texts.result}")


@pytest.mark.parametrize(
    ("toml", "text"),
    [
        ('target = "user"', "answered by a person"),
        ('target = "assistant"', "answered by a second model"),
        ("answer = true", "configured answer (not shown)"),
        ("exclusive = true", "answered by a person; human answer required"),
    ],
)
def test_describe_approval_names_who_answers_a_question(toml: str, text: str):
    config = read_configuration(entry(f"{QUESTION}{toml}"))
    second_model = SecondModel.from_configuration(config)
    assert describe_approval(config.tools["t"], second_model).questions == {"confirm": text}


@pytest.mark.parametrize("toml", LOOSER)
def test_a_gate_of_a_command_is_shown_and_fingerprinted(toml: str):
    before, after = read_single_item(entry("")), read_single_item(entry(toml))
    assert before.runs == after.runs
    assert before.fingerprint != after.fingerprint
    assert LOOSER[toml] in after.gates["t"]
    assert LOOSER[toml] in after.display_text.splitlines()


@pytest.mark.parametrize("toml", LOOSER)
def test_a_gate_of_a_servers_tool_is_shown_with_the_server(toml: str):
    before, after = (
        read_single_item(entry("", SERVED) + SERVER),
        read_single_item(entry(toml, SERVED) + SERVER),
    )
    assert before.name == after.name == "s"
    assert before.fingerprint != after.fingerprint
    assert LOOSER[toml] in after.gates["t"]
    assert f"tool t, {LOOSER[toml]}" in after.display_text.splitlines()


@pytest.mark.parametrize(
    "toml", ['run = "unattended"', 'result = "skip"', 'detached = "auto"', 'detached.run = "auto"']
)
@pytest.mark.parametrize("source_toml", [LOCAL, SERVED])
def test_trust_item_includes_defaults_of_all_tools(toml: str, source_toml: str):
    source = entry("", source_toml) + (SERVER if source_toml == SERVED else "")
    defaults = f'[conversation.tools."*"]\n{toml}\n'
    items_by_name = {
        item.name: item for item in list_trust_items(read_configuration(defaults + source))
    }
    assert (
        items_by_name[read_single_item(source).name].fingerprint
        != read_single_item(source).fingerprint
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("answer = true", "answer = false"),
        ('target = {system_prompt = "x"}', 'target = {system_prompt = "say yes"}'),
    ],
)
def test_trust_item_marks_a_change_of_values_not_shown(before: str, after: str):
    first, second = (
        read_single_item(entry(QUESTION + before)),
        read_single_item(entry(QUESTION + after)),
    )
    assert first.display_text == second.display_text
    assert first.fingerprint != second.fingerprint
    assert cut_hidden_fingerprint(first.fingerprint) != cut_hidden_fingerprint(second.fingerprint)
    assert "yes" not in repr(second)
    assert "not shown" in second.display_text


def test_a_name_that_would_mislead_the_eye_is_spelled_out():
    text = read_single_item(entry('questions."\\n\\u202ex".answer = 1')).display_text
    assert text.splitlines()[-1] == (r"question \n\u202ex: configured answer (not shown)")


def test_server_needs_trust_again_when_a_name_leads_to_another_tool():
    before = read_single_item(entry("", SERVED) + SERVER)
    after = read_single_item(entry("", 'source = "mcp.s.delete"\n') + SERVER)
    assert after.gates["t"][0] == "name on the server: delete"
    assert before.fingerprint != after.fingerprint


def built_ins(text: str) -> list[str]:
    return [item.name for item in list_trust_items(read_configuration(text), builtins=OWN)]


@pytest.mark.parametrize(
    "toml",
    [
        "questions.answer.answer = true",
        'questions.answer.target = "assistant"',
        "questions.answer.exclusive = false",
        'detached = "auto"',
        'detached.tool = "defaults"',
    ],
)
def test_built_in_tool_with_opened_gates_is_a_trust_item(toml: str):
    text = f"[conversation.tools.ask_user]\n{toml}"
    assert built_ins(text) == ["ask_user"]
    assert read_single_item(text).runs == ""
    assert extract_gates(read_single_item(text).display_text).startswith("approval: none\n")


@pytest.mark.parametrize(
    "toml",
    [
        'run = "ask"',
        'result = "edit"',
        'detached = "deny"',
        'questions.answer.prompt_label = "x"',
        "questions.answer.exclusive = true",
    ],
)
def test_a_built_in_that_is_held_more_tightly_is_not(toml: str):
    assert built_ins(f"[conversation.tools.ask_user]\n{toml}") == []


def test_a_default_that_opens_the_built_ins_asks_about_each():
    assert built_ins('[conversation.tools."*"]\ndetached = "auto"') == [
        builtin.name for builtin in OWN
    ]
    assert built_ins('[conversation.tools."*"]\nrun = "unattended"') == []


def test_a_built_in_that_asks_by_itself_may_not_be_silenced():
    builtin = replace(OWN[0], run=ApprovalMode.ASK)
    assert is_opened(OWN[0], builtin)
    assert not is_opened(builtin, builtin)


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


def load_layered(text: str, above: str) -> tuple[Configuration, Configuration]:
    """Return the configuration, and that whose gates count."""
    *lower_layers, owner_layer = make_layers(text, above)
    return load_configuration([*lower_layers, owner_layer], OWN), load_configuration(
        [*lower_layers, remove_gates(owner_layer)], OWN
    )


def test_gates_in_owner_overrides_need_no_trust():
    text = entry("")
    configuration, files = load_layered(text, OWNERS)
    assert configuration.tools["t"].run is ApprovalMode.UNATTENDED
    assert files.tools["t"].summary == "kept"
    assert files.tools["t"].get_question("confirm").prompt_label == "kept"
    (item,) = list_trust_items(configuration, files, OWN)
    assert item == read_single_item(text)


def test_owner_overrides_leave_trust_items_of_files_unchanged():
    configuration, files = load_layered(
        entry('run = "unattended"'), 'conversation.tools.t.run = "ask"'
    )
    (item,) = list_trust_items(configuration, files, OWN)
    assert item == read_single_item(entry('run = "unattended"'))


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
def test_remove_gates_keeps_a_layer_without_gates(text: str):
    layer = Layer("o", tomllib.loads(text))
    assert remove_gates(layer) == layer


def test_trust_items_of_one_command_show_gates_per_tool():
    items = list_trust_items(
        read_configuration(
            f"[conversation.tools.a]\n{LOCAL}[conversation.tools.b]\n{LOCAL}run = 'edit'"
        )
    )
    assert items[0].runs == items[1].runs
    assert items[0].gates["a"] != items[1].gates["b"]
