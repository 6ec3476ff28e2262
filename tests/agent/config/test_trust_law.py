"""The law of trust: every field of a configuration is trusted, gated or harmless with a reason.

A new field without a row fails here. For each field that is trusted or gated, its value in a file
changes and some fingerprint has to change with it, so that an owner is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

import pytest

from jpweb.agent.config import types
from jpweb.agent.config.trust import (
    TrustItem,
    cut_hidden_fingerprint,
    diff_texts,
    list_trust_items,
)
from jpweb.agent.config.types import Configuration
from tests.agent.config.making import OWN, read_configuration

TOOL = "[conversation.tools.t]\n"
LOCAL = f'{TOOL}source = "local"\ncommand = "run me"\n'
SERVER = '[providers.mcp.s]\ncommand = "serve"\n'
WEB = '[providers.mcp.s]\nurl = "https://x/"\n'
SERVED = f'{TOOL}source = "mcp.s"\n'
ASKED = f'{LOCAL}[conversation.tools.t.questions.q]\ntarget = "assistant"\n'
INQUIRY = "[conversation.inquiry.assistant]\n"
QUESTION = "[conversation.tools.t.questions.q]\n"
PROVIDER = "[providers.llm.openai]\n"


class FieldRule(NamedTuple):
    """What a field is; two configurations that differ in it alone, or why it is harmless."""

    kind: Literal["trusted", "gated", "harmless", "walked"]
    before: str
    after: str = ""


def make_trusted_rule(before: str, after: str) -> FieldRule:
    return FieldRule("trusted", before, after)


def make_gated_rule(before: str, after: str) -> FieldRule:
    return FieldRule("gated", before, after)


def make_harmless_rule(reason: str) -> FieldRule:
    return FieldRule("harmless", reason)


#: A field that holds values with fields of their own, which have their rows.
WALKED = FieldRule("walked", "")

LAW: dict[str, FieldRule] = {
    "Configuration.assistant": WALKED,
    "Configuration.inquiry": WALKED,
    "Configuration.tools": WALKED,
    "Configuration.providers": WALKED,
    "Configuration.servers": WALKED,
    "Configuration.notes": make_harmless_rule("jpweb's own words about what it did not understand"),
    "AssistantConfig.name": make_harmless_rule("a name on the page"),
    "AssistantConfig.system": make_gated_rule(
        f'{ASKED}[assistant]\nsystem_prompt = "be brief"\n',
        f'{ASKED}[assistant]\nsystem_prompt = "say yes"\n',
    ),
    "AssistantConfig.model": make_gated_rule(
        f'{ASKED}[assistant.model]\nid = "a/b"\n', f'{ASKED}[assistant.model]\nid = "a/c"\n'
    ),
    "AssistantConfig.tool_choice": make_harmless_rule(
        "what the model calls passes the gates of that tool"
    ),
    "AssistantConfig.request": WALKED,
    "SystemPart.content": make_gated_rule(
        f'{ASKED}[[assistant.instructions]]\nitems = ["be brief"]\n',
        f'{ASKED}[[assistant.instructions]]\nitems = ["say yes"]\n',
    ),
    "SystemPart.title": make_gated_rule(
        f'{ASKED}[[assistant.instructions]]\ntitle = "be brief"\n',
        f'{ASKED}[[assistant.instructions]]\ntitle = "say yes"\n',
    ),
    "SystemPart.position": make_gated_rule(
        f'{ASKED}[[assistant.instructions]]\ntitle = "be brief"\n',
        f'{ASKED}[[assistant.instructions]]\ntitle = "be brief"\nposition = 3\n',
    ),
    "SystemPart.tag": make_gated_rule(
        f'{ASKED}[[assistant.system_prompt_sections]]\ncontent = "x"\n',
        f'{ASKED}[[assistant.system_prompt_sections]]\ncontent = "x"\ntag = "rule"\n',
    ),
    "RequestConfig.max_retries": make_harmless_rule("how often the same request is sent"),
    "RequestConfig.base_backoff": make_harmless_rule("how long a retry waits"),
    "RequestConfig.max_response_bytes": make_harmless_rule("how much of a reply is taken"),
    "RequestConfig.idle_seconds": make_harmless_rule("how long a silent reply is waited for"),
    "RequestConfig.cache": make_harmless_rule("how long a vendor keeps the prompt"),
    "RequestConfig.max_backoff": make_harmless_rule("how long a retry waits at most"),
    "ModelConfig.provider": make_gated_rule(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n', f'{ASKED}{INQUIRY}model.id = "c/b"\n'
    ),
    "ModelConfig.name": make_gated_rule(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n', f'{ASKED}{INQUIRY}model.id = "a/c"\n'
    ),
    "ModelConfig.parameters": make_gated_rule(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n',
        f'{ASKED}{INQUIRY}model.id = "a/b"\nmodel.parameters.temperature = 2\n',
    ),
    "InquiryConfig.model": make_gated_rule(ASKED, f'{ASKED}{INQUIRY}model.id = "a/b"\n'),
    "InquiryConfig.system_prompt": make_gated_rule(
        f'{LOCAL}detached = "auto"\n{INQUIRY}system_prompt = "judge"\n',
        f'{LOCAL}detached = "auto"\n{INQUIRY}system_prompt = "say yes"\n',
    ),
    "InquiryConfig.max_response_bytes": make_gated_rule(
        ASKED, f"{ASKED}{INQUIRY}request.max_response_bytes = 9\n"
    ),
    "ToolConfig.name": make_trusted_rule(LOCAL, LOCAL.replace("tools.t", "tools.u")),
    "ToolConfig.description": make_harmless_rule(
        "the model reads it; what it calls passes the tool's gates"
    ),
    "ToolConfig.summary": make_harmless_rule(
        "the model reads it; what it calls passes the tool's gates"
    ),
    "ToolConfig.examples": make_harmless_rule(
        "the model reads it; what it calls passes the tool's gates"
    ),
    "ToolConfig.parameters": make_trusted_rule(
        f'{LOCAL}parameters.p = {{type = "string", default = "safe"}}\n',
        f'{LOCAL}parameters.p = {{type = "string", default = "rm -rf"}}\n',
    ),
    "ToolConfig.declared": make_trusted_rule(
        f"{SERVED}{SERVER}", f"{SERVED}parameters.p.default = 1\n{SERVER}"
    ),
    "ToolConfig.questions": WALKED,
    "ToolConfig.source": make_trusted_rule(LOCAL, LOCAL.replace("run me", "run you")),
    "ToolConfig.enable": WALKED,
    "ToolConfig.run": make_gated_rule(LOCAL, f'{LOCAL}run = "unattended"\n'),
    "ToolConfig.run_setting": make_harmless_rule("where ``run`` is set, for the record"),
    "ToolConfig.result": make_gated_rule(f'{LOCAL}result = "ask"\n', LOCAL),
    "ToolConfig.cancellation_response": make_harmless_rule(
        "the model reads it where nothing was done"
    ),
    "ToolConfig.formatter": make_trusted_rule(
        f'{LOCAL}style.parameters = "show"\n', f'{LOCAL}style.parameters = "show me"\n'
    ),
    "ToolConfig.format": make_trusted_rule(
        f'{LOCAL}style.parameters = "show"\n',
        f'{LOCAL}style.parameters = "show"\nformat = "unattended"\n',
    ),
    "ToolConfig.options": make_trusted_rule(LOCAL, f"{LOCAL}options.x = 1\n"),
    "ToolConfig.parameter_texts": make_harmless_rule("texts for the model about its arguments"),
    "ToolConfig.access": make_trusted_rule(
        LOCAL, f'{LOCAL}access.fs = [{{path = "a", write = true}}]\n'
    ),
    "ToolConfig.detached": make_gated_rule(LOCAL, f'{LOCAL}detached = "auto"\n'),
    "QuestionConfig.target": make_gated_rule(f"{LOCAL}{QUESTION}", ASKED),
    "QuestionConfig.answer": make_gated_rule(
        f"{LOCAL}{QUESTION}", f"{LOCAL}{QUESTION}answer = true\n"
    ),
    "QuestionConfig.prompt_label": make_harmless_rule("a word beside the tool's name on a card"),
    "QuestionConfig.exclusive": make_gated_rule(
        f"{LOCAL}{QUESTION}", f"{LOCAL}{QUESTION}exclusive = false\n"
    ),
    "QuestionConfig.inquiry": make_gated_rule(
        f'{LOCAL}{QUESTION}target = {{system_prompt = "judge"}}\n',
        f'{LOCAL}{QUESTION}target = {{system_prompt = "say yes"}}\n',
    ),
    "QuestionConfig.expires_after": make_harmless_rule("silence ends as no answer, never as a yes"),
    "StaticAnswer.value": make_gated_rule(
        f"{LOCAL}{QUESTION}answer = false\n", f"{LOCAL}{QUESTION}answer = true\n"
    ),
    "EnableConfig.state": make_harmless_rule(
        "a tool that is on is offered only once it is trusted"
    ),
    "EnableConfig.allow_toggle": make_harmless_rule(
        "switching needs an owner here, and trust all the same"
    ),
    "ToolCommand.program": make_trusted_rule(LOCAL, LOCAL.replace("run me", "ran me")),
    "ToolCommand.args": make_trusted_rule(LOCAL, LOCAL.replace("run me", "run me too")),
    "ToolCommand.shell": make_trusted_rule(
        f'{TOOL}source = "local"\ncommand = {{program = "p"}}\n',
        f'{TOOL}source = "local"\ncommand = {{program = "p", shell = true}}\n',
    ),
    "LocalSource.tool": make_trusted_rule(LOCAL, LOCAL.replace('"local"', '"local.other"')),
    "LocalSource.command": make_trusted_rule(LOCAL, LOCAL.replace("run me", "run you")),
    "McpSource.server": make_trusted_rule(
        f'{SERVED}{SERVER}[providers.mcp.other]\ncommand = "serve"\n',
        f'{SERVED.replace("mcp.s", "mcp.other")}{SERVER}[providers.mcp.other]\ncommand = "serve"\n',
    ),
    "McpSource.tool": make_trusted_rule(
        f"{SERVED}{SERVER}", f"{SERVED.replace('mcp.s', 'mcp.s.drop')}{SERVER}"
    ),
    "ProviderConfig.base_url": make_trusted_rule(PROVIDER, f'{PROVIDER}base_url = "https://x"\n'),
    "ProviderConfig.api_key_env": make_trusted_rule(PROVIDER, f'{PROVIDER}api_key_env = "K"\n'),
    "ProviderConfig.app_name": make_harmless_rule("a name that the vendor lists"),
    "ProviderConfig.beta_headers": make_harmless_rule(
        "names of a vendor's features, sent to it alone"
    ),
    "McpServer.name": make_trusted_rule(SERVER, SERVER.replace("mcp.s", "mcp.t")),
    "McpServer.command": make_trusted_rule(SERVER, SERVER.replace("serve", "other")),
    "McpServer.arguments": make_trusted_rule(SERVER, f'{SERVER}arguments = ["x"]\n'),
    "McpServer.variables": make_trusted_rule(SERVER, f'{SERVER}variables = ["X"]\n'),
    "McpServer.checksum": make_trusted_rule(SERVER, f'{SERVER}checksum.value = "{"ab" * 32}"\n'),
    "McpServer.url": make_trusted_rule(WEB, WEB.replace("//x", "//y")),
    "McpServer.optional": make_trusted_rule(SERVER, f"{SERVER}optional = true\n"),
    "McpServer.start_seconds": make_trusted_rule(SERVER, f"{SERVER}startup_timeout_secs = 9\n"),
    "McpServer.headers": make_trusted_rule(WEB, f'{WEB}headers = {{X = "y"}}\n'),
}


def iterate_fields(root: Any) -> Iterator[str]:
    """Yield every field of the dataclasses that can be reached from one, as "Class.field"."""
    classes: set[Any] = set()
    queue: list[Any] = [root]
    while queue:
        owner = queue.pop()
        if owner in classes:
            continue
        classes.add(owner)
        hints = get_type_hints(owner, vars(types))
        for field in fields(owner):
            yield f"{owner.__name__}.{field.name}"
            queue.extend(_classes(hints[field.name]))


def _classes(hint: Any) -> list[Any]:
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [cls for part in get_args(hint) for cls in _classes(part)]


def _list_items(text: str) -> dict[tuple[str, str], TrustItem]:
    items = list_trust_items(read_configuration(text), builtins=OWN)
    return {(item.kind.value, item.name): item for item in items}


def _asked_for(text: str) -> set[tuple[str, str, str]]:
    return {
        (w.kind.value, w.name, w.fingerprint)
        for w in list_trust_items(read_configuration(text), builtins=OWN)
    }


def test_trust_table_has_a_row_for_every_configured_field():
    assert set(iterate_fields(Configuration)) == set(LAW)


@pytest.mark.parametrize("name", [n for n, row in LAW.items() if row.kind in ("trusted", "gated")])
def test_trusted_field_changed_in_a_file_asks_again(name: str):
    row = LAW[name]
    assert _asked_for(row.after) - _asked_for(row.before)


@pytest.mark.parametrize("name", [n for n, row in LAW.items() if row.kind in ("trusted", "gated")])
def test_trusted_field_changed_in_a_file_shows_a_difference(name: str):
    before, after = _list_items(LAW[name].before), _list_items(LAW[name].after)
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if old.fingerprint != new.fingerprint:
            has_hidden_change = cut_hidden_fingerprint(old.fingerprint) != cut_hidden_fingerprint(
                new.fingerprint
            )
            lines = diff_texts(old.display_text, new.display_text, has_hidden_change)
            assert any(line.change != "same" for line in lines)


def test_harmless_field_states_a_reason():
    assert all(row.before for row in LAW.values() if row.kind == "harmless")
