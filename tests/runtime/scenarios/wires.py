"""Where each vendor's requests hold what the scenarios look for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.runtime.scenarios.talking import CALLED, SIGNED

Body = Mapping[str, Any]


class ReplayedReply(NamedTuple):
    """A model's reply as it was sent back: what was signed, the calls' ids, the results' ids."""

    signed: Any
    calls: list[str]
    results: list[str]


THOUGHT = "Two things to do."
#: What each vendor must get back with reasoning, text and calls, in its own fields.
SIGNATURES: Mapping[str, Any] = {
    "anthropic": [{"type": "thinking", "thinking": THOUGHT, "signature": SIGNED}],
    "google": [(SIGNED, "I do both."), (CALLED, "greet")],
    "llamacpp": [THOUGHT],
    "ollama": [THOUGHT],
    "openai": [
        ("reasoning", "rs_1", SIGNED, THOUGHT),
        ("message", "msg_1", "commentary"),
        ("function_call", "fc_call_1"),
        ("function_call", "fc_call_2"),
    ],
    "openrouter": [(SIGNED, "anthropic-claude-v1", 0, THOUGHT)],
}
#: The metadata of reasoning, message and the two calls, under the names of JP.
NOTED: Mapping[str, tuple[Any, Any, Any, Any]] = {
    "anthropic": ({"anthropic_thinking_signature": SIGNED}, {}, {}, {}),
    "google": (
        {},
        {"google_thought_signature": SIGNED},
        {"google_thought_signature": CALLED},
        {},
    ),
    "llamacpp": ({}, {}, {}, {}),
    "ollama": ({}, {}, {}, {}),
    "openai": (
        {"openai_item_id": "rs_1", "openai_encrypted_content": SIGNED},
        {"openai_item_id": "msg_1", "openai_phase": "commentary"},
        {"openai_item_id": "fc_call_1"},
        {"openai_item_id": "fc_call_2"},
    ),
    "openrouter": (
        {
            "anthropic_thinking_signature": SIGNED,
            "openrouter_metadata": [{"index": 0, "field": "anthropic_thinking_signature"}],
        },
        {},
        {},
        {},
    ),
}


def sent_back(name: str, body: Body) -> ReplayedReply:
    """Return what a request holds of the one reply before it."""
    match name:
        case "anthropic":
            return _anthropic(body)
        case "google":
            return _google(body)
        case "openai":
            return _openai(body)
        case _:
            return _completions(body)


def get_schema(name: str, body: Body) -> Any:
    """Return the JSON schema of the reply that is asked for, None where it may be any text."""
    match name:
        case "anthropic":
            return body.get("output_config", {}).get("format", {}).get("schema")
        case "google":
            return body["generationConfig"].get("responseJsonSchema")
        case "openai":
            return body.get("text", {}).get("format", {}).get("schema")
        case "ollama":
            return body.get("format")
        case _:
            return body.get("response_format", {}).get("json_schema", {}).get("schema")


def get_tool_choice(name: str, body: Body) -> str:
    """Return which tools may be called, in the vendor's word."""
    match name:
        case "anthropic":
            return str(body["tool_choice"]["type"])
        case "google":
            return str(body["toolConfig"]["functionCallingConfig"]["mode"]).lower()
        case "ollama":  # its API has no choice: tools are offered or not
            return "auto" if "tools" in body and "format" not in body else "none"
        case _:
            return str(body["tool_choice"])


def list_roles(name: str, body: Body) -> list[str]:
    """Return who speaks in a request, message by message; items of OpenAI by their type."""
    if name == "openai":
        return [message.get("role") or message["type"] for message in body["input"]]
    return [message["role"] for message in body["contents" if name == "google" else "messages"]]


def _anthropic(body: Body) -> ReplayedReply:
    _, reply, results_message = body["messages"]
    return ReplayedReply(
        [part for part in reply["content"] if part["type"] == "thinking"],
        [part["id"] for part in reply["content"] if part["type"] == "tool_use"],
        [
            part["tool_use_id"]
            for part in results_message["content"]
            if part["type"] == "tool_result"
        ],
    )


def _google(body: Body) -> ReplayedReply:
    reply, results_message = body["contents"][1:3]
    return ReplayedReply(
        [
            (part["thoughtSignature"], part.get("text") or part["functionCall"]["name"])
            for part in reply["parts"]
            if "thoughtSignature" in part
        ],
        [part["functionCall"]["id"] for part in reply["parts"] if "functionCall" in part],
        [part["functionResponse"]["id"] for part in results_message["parts"]],
    )


def _openai(body: Body) -> ReplayedReply:
    signed_parts: list[Any] = []
    for item in body["input"]:
        match item:
            case {"type": "reasoning", "id": id_, "encrypted_content": code, "summary": [summary]}:
                signed_parts.append(("reasoning", id_, code, summary["text"]))
            case {"type": "message", "id": id_, "phase": phase}:
                signed_parts.append(("message", id_, phase))
            case {"type": "function_call", "id": id_}:
                signed_parts.append(("function_call", id_))
            case _:
                pass
    kinds = {kind: [i for i in body["input"] if i.get("type") == kind] for kind in _CALLS}
    return ReplayedReply(
        signed_parts, *([item["call_id"] for item in kinds[kind]] for kind in _CALLS)
    )


_CALLS = ("function_call", "function_call_output")


def _completions(body: Body) -> ReplayedReply:
    reply = next(message for message in body["messages"] if message["role"] == "assistant")
    details = reply.get("reasoning_details", ())
    thoughts = [reply[field] for field in ("reasoning_content", "thinking") if field in reply]
    return ReplayedReply(
        thoughts or [(d["signature"], d["format"], d["index"], d["text"]) for d in details],
        [call["id"] for call in reply["tool_calls"]],
        [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"],
    )
