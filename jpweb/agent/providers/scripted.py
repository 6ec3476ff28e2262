"""A provider without a model: it plays a fixed script that shows every kind of question.

Lines of the form ``/call tool {"argument": "value"}`` make it call these tools instead, all at
once, so that tools can be tried without a model. To a request with a schema it replies with the
first thing that the schema allows.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jpweb.agent.ports import (
    CompleteToolCall,
    ProviderEvent,
    ProviderRequest,
    ReplyFinished,
    StructuredReply,
    TextDelta,
)
from jpweb.agent.provider_info import SCRIPTED_PROVIDER
from jpweb.agent.providers.adapter.event_values import parse_event_value
from jpweb.agent.tool_calls import model_messages
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse

_THINKING_TEXT = (
    "There is nothing to work out: the next step of the script is a question. It uses the ask_user "
    "tool, just as a model would."
)
_OPENING_TEXT = (
    "Hello. **I am a script, not a model**: my replies are the same whatever you write. I will ask "
    "you four questions, including one for a secret, then list what I received. You can decline "
    "any of them.\n"
)
#: The result of demo_vault for any passphrase.
_VAULT_OPEN_TEXT = "The demonstration vault is open."


@dataclass(frozen=True, slots=True)
class _ScriptStep:
    """One tool call of the script, and the title of its answer in the closing text."""

    title: str
    tool: str
    arguments: dict[str, Any]
    secret: bool = False


_SCRIPT_STEPS = (
    _ScriptStep(
        "yes or no",
        "ask_user",
        {"question": "Shall I show you how questions work?", "answer_type": "boolean"},
    ),
    _ScriptStep(
        "one of three",
        "ask_user",
        {
            "question": "How should the pretend changes be applied?",
            "context": "The script only pretends to change three files.\n"
            "A backup would let you undo the changes.",
            "answer_type": "select",
            "options": ["with a backup", "without a backup", "not at all"],
        },
    ),
    _ScriptStep(
        "free text",
        "ask_user",
        {
            "question": "What should the pretend report be called?",
            "answer_type": "text",
            "default": "report.md",
        },
    ),
    _ScriptStep("secret", "demo_vault", {}, secret=True),
)


class ScriptedProvider:
    """Plays the script from the step that the request shows, with short pauses as of typing."""

    NAME = SCRIPTED_PROVIDER

    def __init__(self, pace: float = 0.02) -> None:
        """``pace`` is the pause before each piece of text and each call, in seconds."""
        self._pace = pace
        self._calls = 0

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the part of the script that follows the request's events of this turn."""
        for event in self._make_reply(request):
            if isinstance(event, TextDelta | CompleteToolCall):
                await asyncio.sleep(self._pace)
            yield event

    def _make_reply(self, request: ProviderRequest) -> Iterator[ProviderEvent]:
        if request.schema is not None:
            yield from (StructuredReply(_make_first_value(request.schema)), ReplyFinished())
            return
        message, results = _find_latest_request(request.parts.events)
        steps = list(_list_requested_steps(message))
        if not steps:
            yield from self._get_next_script_part(results)
        elif not results:
            yield from (self._make_call(step) for step in steps)
            yield ReplyFinished()
        else:
            yield from _split_words("message", _quote_results(steps, results))
            yield ReplyFinished()

    def _get_next_script_part(self, results: Sequence[ToolCallResponse]) -> Iterator[ProviderEvent]:
        if not results:
            yield from _split_words("reasoning", _THINKING_TEXT)
            yield from _split_words("message", _OPENING_TEXT)
        if len(results) < len(_SCRIPT_STEPS):
            yield self._make_call(_SCRIPT_STEPS[len(results)])
        else:
            yield from _split_words("message", _build_closing_text(results))
        yield ReplyFinished()

    def _make_call(self, step: _ScriptStep) -> CompleteToolCall:
        self._calls += 1
        return CompleteToolCall(
            f"call_{self._calls}_{secrets.token_hex(4)}", step.tool, dict(step.arguments)
        )


def _split_words(variant: Literal["message", "reasoning"], text: str) -> Iterator[TextDelta]:
    for piece in re.findall(r"\S+\s*", text):
        yield TextDelta(variant, piece)


def _find_latest_request(events: Sequence[ConversationEvent]) -> tuple[str, list[ToolCallResponse]]:
    """Return the person's latest message, and the results since."""
    message = ""
    results: list[ToolCallResponse] = []
    for event in events:
        if isinstance(event.kind, ChatRequest):
            message = event.kind.content
            results.clear()
        elif isinstance(event.kind, ToolCallResponse):
            results.append(event.kind)
    return message, results


def _list_requested_steps(message: str) -> Iterator[_ScriptStep]:
    """Yield the requested calls; arguments that are not an object become ``text``."""
    for tool, arguments_text in re.findall(r"^/call[ \t]+(\S+)[ \t]*(.*)$", message, re.MULTILINE):
        try:
            arguments = parse_event_value(arguments_text or "{}")
        except ValueError:
            arguments = arguments_text
        if not isinstance(arguments, dict):
            arguments = {"text": arguments}
        yield _ScriptStep(tool, tool, arguments)


def _quote_results(steps: Sequence[_ScriptStep], results: Sequence[ToolCallResponse]) -> str:
    """Return the tools' results as Markdown for a reader without a model."""
    parts = [
        f"**{step.title}**{' failed' if result.is_error else ''}:\n\n"
        f"{_fence_block(result.content)}\n"
        for step, result in zip(steps, results, strict=False)
    ]
    return "\n".join(parts)


def _make_first_value(schema: Mapping[str, Any]) -> Any:
    """Return the first value that a JSON schema allows, of the schemas of jpweb's questions."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            parts = schema.get("properties", {})
            return {name: _make_first_value(part) for name, part in parts.items()}
        case "boolean":
            return True
        case _:
            return "the script has no answer"


def _build_closing_text(results: Sequence[ToolCallResponse]) -> str:
    return "\n".join(
        ("That was the script. This is what I received:", "", *_report_lines(results), "")
    )


def _report_lines(results: Sequence[ToolCallResponse]) -> Iterator[str]:
    for step, result in zip(_SCRIPT_STEPS, results, strict=False):
        yield f"- **{step.title}**: {_describe_result(step, result)}"


def _describe_result(step: _ScriptStep, result: ToolCallResponse) -> str:
    if result.content == model_messages.INPUT_CANCELLED:
        return "declined"
    if result.is_error:
        return "no answer: the tool call failed"
    if result.content == _VAULT_OPEN_TEXT:
        return "received, not shown"
    answer = None if step.secret else _read_answer(result.content)
    if answer is None:
        return f"no answer; the result was {_make_code_span(' '.join(result.content.split()))}"
    return f"{_make_code_span(json.dumps(answer, ensure_ascii=False))} ({_get_json_type(answer)})"


def _read_answer(content: str) -> bool | str | None:
    """Return the answer that ask_user gave as JSON; None where the result is another text.

    A person can decline with a note, respond instead of answering, and edit a result.
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, bool | str) else None


def _get_json_type(value: bool | str) -> str:
    return "boolean" if isinstance(value, bool) else "string"


def _fence_block(text: str) -> str:
    """Return a block of Markdown that no text can end early."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _make_code_span(text: str) -> str:
    """Return a code span of Markdown that no text can end early."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence}{text}{fence}"
