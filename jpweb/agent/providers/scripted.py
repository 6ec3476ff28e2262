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

from jpweb.agent.calls import texts
from jpweb.agent.ports import CallTool, Data, Delta, Finished, ProviderEvent, ProviderRequest
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse

_THINKING = (
    "There is nothing to work out: the next step of the script is a question. It uses the ask_user "
    "tool, just as a model would."
)
_OPENING = (
    "Hello. **I am a script, not a model**: my replies are the same whatever you write. I will ask "
    "you four questions, including one for a secret, then list what I received. You can decline "
    "any of them.\n"
)
#: The result of demo_vault once it has a passphrase.
_VAULT_OPEN = "The demonstration vault is open."


@dataclass(frozen=True, slots=True)
class _Step:
    """One tool call of the script, and what its answer is called at the end."""

    title: str
    tool: str
    arguments: dict[str, Any]
    secret: bool = False


_STEPS = (
    _Step(
        "yes or no",
        "ask_user",
        {"question": "Shall I show you how questions work?", "answer_type": "boolean"},
    ),
    _Step(
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
    _Step(
        "free text",
        "ask_user",
        {
            "question": "What should the pretend report be called?",
            "answer_type": "text",
            "default": "report.md",
        },
    ),
    _Step("secret", "demo_vault", {}, secret=True),
)


class Scripted:
    """Plays the script from the place that the request shows, with small pauses as of typing."""

    NAME = "scripted"

    def __init__(self, pace: float = 0.02) -> None:
        """``pace`` is the pause before each piece of text and each call, in seconds."""
        self._pace = pace
        self._calls = 0

    async def stream(self, request: ProviderRequest) -> AsyncIterator[ProviderEvent]:
        """Yield the part of the script that follows what the request holds of this turn."""
        for event in self._reply(request):
            if isinstance(event, Delta | CallTool):
                await asyncio.sleep(self._pace)
            yield event

    def _reply(self, request: ProviderRequest) -> Iterator[ProviderEvent]:
        if request.schema is not None:
            yield from (Data(_first(request.schema)), Finished())
            return
        said, results = _latest(request.parts.events)
        wanted = list(_wanted(said))
        if not wanted:
            yield from self._part(results)
        elif not results:
            yield from (self._call(step) for step in wanted)
            yield Finished()
        else:
            yield from _typed("message", _quoted(wanted, results))
            yield Finished()

    def _part(self, results: Sequence[ToolCallResponse]) -> Iterator[ProviderEvent]:
        if not results:
            yield from _typed("reasoning", _THINKING)
            yield from _typed("message", _OPENING)
        if len(results) < len(_STEPS):
            yield self._call(_STEPS[len(results)])
        else:
            yield from _typed("message", _closing(results))
        yield Finished()

    def _call(self, step: _Step) -> CallTool:
        self._calls += 1
        return CallTool(
            f"call_{self._calls}_{secrets.token_hex(4)}", step.tool, dict(step.arguments)
        )


def _typed(variant: Literal["message", "reasoning"], text: str) -> Iterator[Delta]:
    for piece in re.findall(r"\S+\s*", text):
        yield Delta(variant, piece)


def _latest(events: Sequence[ConversationEvent]) -> tuple[str, list[ToolCallResponse]]:
    """Return what the person said last, and the results since."""
    said = ""
    results: list[ToolCallResponse] = []
    for event in events:
        if isinstance(event.kind, ChatRequest):
            said = event.kind.content
            results.clear()
        elif isinstance(event.kind, ToolCallResponse):
            results.append(event.kind)
    return said, results


def _wanted(said: str) -> Iterator[_Step]:
    """Read the calls that the person asks for; what is no JSON object is passed as ``text``."""
    for tool, written in re.findall(r"^/call[ \t]+(\S+)[ \t]*(.*)$", said, re.MULTILINE):
        try:
            arguments = json.loads(written or "{}")
        except (ValueError, RecursionError):
            arguments = written
        if not isinstance(arguments, dict):
            arguments = {"text": arguments}
        yield _Step(tool, tool, arguments)


def _quoted(steps: Sequence[_Step], results: Sequence[ToolCallResponse]) -> str:
    """Return what the tools gave, as somebody reads it who has no model to put it in words."""
    parts = [
        f"**{step.title}**{' failed' if result.is_error else ''}:\n\n{_block(result.content)}\n"
        for step, result in zip(steps, results, strict=False)
    ]
    return "\n".join(parts)


def _first(schema: Mapping[str, Any]) -> Any:
    """Return the first value that a JSON schema allows, of those that jpweb's questions have."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            parts = schema.get("properties", {})
            return {name: _first(part) for name, part in parts.items()}
        case "boolean":
            return True
        case _:
            return "the script has no answer"


def _closing(results: Sequence[ToolCallResponse]) -> str:
    return "\n".join(("That was the script. This is what I received:", "", *_report(results), ""))


def _report(results: Sequence[ToolCallResponse]) -> Iterator[str]:
    for step, result in zip(_STEPS, results, strict=False):
        yield f"- **{step.title}**: {_received(step, result)}"


def _received(step: _Step, result: ToolCallResponse) -> str:
    if result.content == texts.INPUT_CANCELLED:
        return "declined"
    if result.is_error:
        return "no answer: the tool call failed"
    if result.content == _VAULT_OPEN:
        return "received, not shown"
    answer = None if step.secret else _answer(result.content)
    if answer is None:
        return f"no answer; the result was {_code(' '.join(result.content.split()))}"
    return f"{_code(json.dumps(answer, ensure_ascii=False))} ({_json_type(answer)})"


def _answer(content: str) -> bool | str | None:
    """Return the answer that ask_user gave as JSON; None where the result is another text.

    A person can decline with a note, say words instead of an answer, and edit a result.
    """
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        return None
    answer = given.get("answer") if isinstance(given, dict) else None
    return answer if isinstance(answer, bool | str) else None


def _json_type(value: bool | str) -> str:
    return "boolean" if isinstance(value, bool) else "string"


def _block(text: str) -> str:
    """Return a block of Markdown that no text can end early."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return a code span of Markdown that no text can end early."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence}{text}{fence}"
