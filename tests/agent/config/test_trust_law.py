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
from jpweb.agent.config.trust import list_trust_items
from jpweb.agent.config.types import Configuration
from tests.agent.config.making import OWN, reading

TOOL = "[conversation.tools.t]\n"
LOCAL = f'{TOOL}source = "local"\ncommand = "run me"\n'
SERVER = '[providers.mcp.s]\ncommand = "serve"\n'
WEB = '[providers.mcp.s]\nurl = "https://x/"\n'
SERVED = f'{TOOL}source = "mcp.s"\n'
ASKED = f'{LOCAL}[conversation.tools.t.questions.q]\ntarget = "assistant"\n'
INQUIRY = "[conversation.inquiry.assistant]\n"
QUESTION = "[conversation.tools.t.questions.q]\n"
PROVIDER = "[providers.llm.openai]\n"


class Row(NamedTuple):
    """What a field is; two configurations that differ in it alone, or why it is harmless."""

    kind: Literal["trusted", "gated", "harmless", "walked"]
    before: str
    after: str = ""


def trusted(before: str, after: str) -> Row:
    return Row("trusted", before, after)


def gated(before: str, after: str) -> Row:
    return Row("gated", before, after)


def harmless(reason: str) -> Row:
    return Row("harmless", reason)


#: A field that holds values with fields of their own, which have their rows.
WALKED = Row("walked", "")

LAW: dict[str, Row] = {
    "Configuration.assistant": WALKED,
    "Configuration.inquiry": WALKED,
    "Configuration.tools": WALKED,
    "Configuration.providers": WALKED,
    "Configuration.servers": WALKED,
    "Configuration.notes": harmless("jpweb's own words about what it did not understand"),
    "AssistantConfig.name": harmless("a name on the page"),
    "AssistantConfig.system": gated(
        f'{ASKED}[assistant]\nsystem_prompt = "be brief"\n',
        f'{ASKED}[assistant]\nsystem_prompt = "say yes"\n',
    ),
    "AssistantConfig.model": gated(
        f'{ASKED}[assistant.model]\nid = "a/b"\n', f'{ASKED}[assistant.model]\nid = "a/c"\n'
    ),
    "AssistantConfig.tool_choice": harmless("what the model calls passes the gates of that tool"),
    "AssistantConfig.request": WALKED,
    "SystemPart.content": gated(
        f'{ASKED}[[assistant.instructions]]\ntitle = "be brief"\n',
        f'{ASKED}[[assistant.instructions]]\ntitle = "say yes"\n',
    ),
    "SystemPart.tag": gated(
        f'{ASKED}[[assistant.system_prompt_sections]]\ncontent = "x"\n',
        f'{ASKED}[[assistant.system_prompt_sections]]\ncontent = "x"\ntag = "rule"\n',
    ),
    "RequestConfig.max_retries": harmless("how often the same request is sent"),
    "RequestConfig.base_backoff": harmless("how long a retry waits"),
    "RequestConfig.max_backoff": harmless("how long a retry waits at most"),
    "ModelConfig.provider": gated(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n', f'{ASKED}{INQUIRY}model.id = "c/b"\n'
    ),
    "ModelConfig.name": gated(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n', f'{ASKED}{INQUIRY}model.id = "a/c"\n'
    ),
    "ModelConfig.parameters": gated(
        f'{ASKED}{INQUIRY}model.id = "a/b"\n',
        f'{ASKED}{INQUIRY}model.id = "a/b"\nmodel.parameters.temperature = 2\n',
    ),
    "InquiryConfig.model": gated(ASKED, f'{ASKED}{INQUIRY}model.id = "a/b"\n'),
    "InquiryConfig.system_prompt": gated(
        f'{LOCAL}detached = "auto"\n{INQUIRY}system_prompt = "judge"\n',
        f'{LOCAL}detached = "auto"\n{INQUIRY}system_prompt = "say yes"\n',
    ),
    "InquiryConfig.max_response_bytes": gated(
        ASKED, f"{ASKED}{INQUIRY}request.max_response_bytes = 9\n"
    ),
    "ToolConfig.name": trusted(LOCAL, LOCAL.replace("tools.t", "tools.u")),
    "ToolConfig.description": harmless("the model reads it; what it calls passes the tool's gates"),
    "ToolConfig.summary": harmless("the model reads it; what it calls passes the tool's gates"),
    "ToolConfig.examples": harmless("the model reads it; what it calls passes the tool's gates"),
    "ToolConfig.parameters": trusted(
        f'{LOCAL}parameters.p = {{type = "string", default = "safe"}}\n',
        f'{LOCAL}parameters.p = {{type = "string", default = "rm -rf"}}\n',
    ),
    "ToolConfig.declared": trusted(
        f"{SERVED}{SERVER}", f"{SERVED}parameters.p.default = 1\n{SERVER}"
    ),
    "ToolConfig.questions": WALKED,
    "ToolConfig.source": trusted(LOCAL, LOCAL.replace("run me", "run you")),
    "ToolConfig.enable": WALKED,
    "ToolConfig.run": gated(LOCAL, f'{LOCAL}run = "unattended"\n'),
    "ToolConfig.result": gated(f'{LOCAL}result = "ask"\n', LOCAL),
    "ToolConfig.cancellation_response": harmless("the model reads it where nothing was done"),
    "ToolConfig.formatter": trusted(
        f'{LOCAL}style.parameters = "show"\n', f'{LOCAL}style.parameters = "show me"\n'
    ),
    "ToolConfig.format": trusted(
        f'{LOCAL}style.parameters = "show"\n',
        f'{LOCAL}style.parameters = "show"\nformat = "unattended"\n',
    ),
    "ToolConfig.options": trusted(LOCAL, f"{LOCAL}options.x = 1\n"),
    "ToolConfig.access": trusted(LOCAL, f"{LOCAL}access.x = 1\n"),
    "ToolConfig.detached": gated(LOCAL, f'{LOCAL}detached = "auto"\n'),
    "QuestionConfig.target": gated(f"{LOCAL}{QUESTION}", ASKED),
    "QuestionConfig.answer": gated(f"{LOCAL}{QUESTION}", f"{LOCAL}{QUESTION}answer = true\n"),
    "QuestionConfig.prompt_label": harmless("a word beside the tool's name on a card"),
    "QuestionConfig.exclusive": gated(
        f"{LOCAL}{QUESTION}", f"{LOCAL}{QUESTION}exclusive = false\n"
    ),
    "QuestionConfig.inquiry": gated(
        f'{LOCAL}{QUESTION}target = {{system_prompt = "judge"}}\n',
        f'{LOCAL}{QUESTION}target = {{system_prompt = "say yes"}}\n',
    ),
    "QuestionConfig.expires_after": harmless("silence ends as no answer, never as a yes"),
    "StaticAnswer.value": gated(
        f"{LOCAL}{QUESTION}answer = false\n", f"{LOCAL}{QUESTION}answer = true\n"
    ),
    "Enable.state": harmless("a tool that is on is offered only once it is trusted"),
    "Enable.allow_toggle": harmless("switching needs an owner here, and trust all the same"),
    "ToolCommand.program": trusted(LOCAL, LOCAL.replace("run me", "ran me")),
    "ToolCommand.args": trusted(LOCAL, LOCAL.replace("run me", "run me too")),
    "ToolCommand.shell": trusted(
        f'{TOOL}source = "local"\ncommand = {{program = "p"}}\n',
        f'{TOOL}source = "local"\ncommand = {{program = "p", shell = true}}\n',
    ),
    "Local.tool": trusted(LOCAL, LOCAL.replace('"local"', '"local.other"')),
    "Local.command": trusted(LOCAL, LOCAL.replace("run me", "run you")),
    "Mcp.server": trusted(
        f'{SERVED}{SERVER}[providers.mcp.other]\ncommand = "serve"\n',
        f'{SERVED.replace("mcp.s", "mcp.other")}{SERVER}[providers.mcp.other]\ncommand = "serve"\n',
    ),
    "Mcp.tool": trusted(f"{SERVED}{SERVER}", f"{SERVED.replace('mcp.s', 'mcp.s.drop')}{SERVER}"),
    "ProviderConfig.base_url": trusted(PROVIDER, f'{PROVIDER}base_url = "https://x"\n'),
    "ProviderConfig.api_key_env": trusted(PROVIDER, f'{PROVIDER}api_key_env = "K"\n'),
    "ProviderConfig.app_name": harmless("a name that the vendor lists"),
    "ProviderConfig.beta_headers": harmless("names of a vendor's features, sent to it alone"),
    "McpServer.name": trusted(SERVER, SERVER.replace("mcp.s", "mcp.t")),
    "McpServer.command": trusted(SERVER, SERVER.replace("serve", "other")),
    "McpServer.arguments": trusted(SERVER, f'{SERVER}arguments = ["x"]\n'),
    "McpServer.variables": trusted(SERVER, f'{SERVER}variables = ["X"]\n'),
    "McpServer.checksum": trusted(SERVER, f'{SERVER}checksum.value = "{"ab" * 32}"\n'),
    "McpServer.url": trusted(WEB, WEB.replace("//x", "//y")),
    "McpServer.headers": trusted(WEB, f'{WEB}headers = {{X = "y"}}\n'),
}


def configured(root: Any) -> Iterator[str]:
    """Yield every field of the dataclasses that can be reached from one, as "Class.field"."""
    seen: set[Any] = set()
    left: list[Any] = [root]
    while left:
        owner = left.pop()
        if owner in seen:
            continue
        seen.add(owner)
        hints = get_type_hints(owner, vars(types))
        for field in fields(owner):
            yield f"{owner.__name__}.{field.name}"
            left.extend(_classes(hints[field.name]))


def _classes(hint: Any) -> list[Any]:
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [found for part in get_args(hint) for found in _classes(part)]


def _asked_for(text: str) -> set[tuple[str, str, str]]:
    return {
        (w.kind.value, w.name, w.fingerprint) for w in list_trust_items(reading(text), builtins=OWN)
    }


def test_trust_table_has_a_row_for_every_configured_field():
    assert set(configured(Configuration)) == set(LAW)


@pytest.mark.parametrize("name", [n for n, row in LAW.items() if row.kind in ("trusted", "gated")])
def test_trusted_field_changed_in_a_file_asks_again(name: str):
    row = LAW[name]
    assert _asked_for(row.after) - _asked_for(row.before)


def test_harmless_field_states_a_reason():
    assert all(row.before for row in LAW.values() if row.kind == "harmless")
