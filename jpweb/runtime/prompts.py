"""Where permission and delivery prompts wait, and where a person's decision about one is made.

As at the desk, the row decides who was first; what is in memory only wakes the waiting call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jpweb.runtime.crossing import in_store
from jpweb.runtime.desk import Bell
from jpweb.runtime.signals import announce, fanout
from jpweb.store import plain, prompts
from jpweb.store.errors import AlreadyDecided
from jpweb.store.terms import PromptKind, PromptState, RunState
from jpweb.stream.errors import Unfit

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Prompt

#: Bytes of arguments or of a result up to which a page lets people edit them.
EDITABLE = 100_000

bell: Bell[Prompt] = Bell()
fanout.subscribe("decided", lambda signal: bell.ring(signal["prompt"]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person sends: ``text`` is the arguments or the result as they stand in the form.

    None stands for a form that has no field for it; ``reason`` is only for a refusal.
    """

    allow: bool
    remember: bool = False
    text: str | None = None
    reason: str = ""


async def decide(prompt_key: int, verdict: Verdict, by: Decider) -> Prompt:
    """Decide a prompt; returns the settled row. Raises UnknownPrompt, Unfit, AlreadyDecided."""
    row = await in_store(prompts.get, prompt_key)
    if row.state != PromptState.OPEN:
        raise AlreadyDecided(row)
    decision = _run(row, verdict) if row.kind == PromptKind.RUN else _delivery(row, verdict)
    settled = await in_store(prompts.decide, prompt_key, decision, by)
    await tell(settled)
    return settled


async def wait(row: Prompt) -> Prompt:
    """Return the row once it is decided or withdrawn."""

    async def settled() -> Prompt | None:
        now = await in_store(prompts.get, row.pk)
        return None if now.state == PromptState.OPEN else now

    return await bell.until(row.pk, settled)


async def tell(row: Prompt) -> None:
    """Wake the call that waits, and say that what waits has changed."""
    await announce.decided(row.pk)
    if row.run.state == RunState.QUEUED:
        await announce.run(row.run_id)  # it was parked, and goes on now
    await announce.questions(row.conversation.workspace_id)


def edited_arguments(row: Prompt, text: str | None) -> Mapping[str, Any] | None:
    """Return the arguments that a form sent, or None where they are the call's own. Raises Unfit.

    A form sends them back whole, changed or not, so that what is in the field is what runs.
    """
    if text is None:
        return None
    own = row.shown.get("arguments")
    try:
        read = json.loads(text, parse_constant=_no_constant)
        same = _written(read) == _written(own)
    except (ValueError, RecursionError) as problem:
        raise Unfit(f"Invalid JSON: {_where(problem)}.") from problem
    if not isinstance(read, dict):
        raise Unfit("The arguments must be a JSON object, such as {}.")
    return None if same else read


def edited_result(row: Prompt, text: str | None) -> str | None:
    """Return the result that a form sent, or None where it is the tool's own or was emptied."""
    if not text:
        return None
    sent = _plain_ends(text)
    if not row.shown.get("is_error") and sent == _plain_ends(str(row.shown.get("content"))):
        return None
    if "\x00" in sent:
        raise Unfit("The text contains a NUL character, which can't be stored.")
    return sent


def typed(row: Prompt, verdict: Verdict) -> str:
    """Return what somebody typed whose decision was not used, to copy."""
    if not verdict.allow:
        return verdict.reason
    if row.state != PromptState.OPEN or verdict.text is None:
        return verdict.text or ""
    try:
        return verdict.text if _edited(row, verdict.text) is not None else ""
    except Unfit:
        return verdict.text


def editable_text(row: Prompt) -> str:
    """Return what a form offers to be edited; an error is not offered."""
    if row.kind == PromptKind.RUN:
        return json.dumps(row.shown.get("arguments"), indent=2, ensure_ascii=False)
    return "" if row.shown.get("is_error") else str(row.shown.get("content", ""))


def _edited(row: Prompt, text: str) -> Any:
    run = row.kind == PromptKind.RUN
    return edited_arguments(row, text) if run else edited_result(row, text)


def _run(row: Prompt, verdict: Verdict) -> dict[str, Any]:
    decision: dict[str, Any] = {"allow": verdict.allow, "remember": verdict.remember}
    if not verdict.allow:
        return decision | {"reason": _plain_ends(verdict.reason).replace("\x00", "").strip()}
    edited = edited_arguments(row, verdict.text)
    if edited is None:
        return decision
    if verdict.remember:
        raise Unfit(
            "Edited arguments can only be allowed once. To allow the tool for this turn, "
            "restore the original arguments."
        )
    return decision | {"arguments": edited}


def _delivery(row: Prompt, verdict: Verdict) -> dict[str, Any]:
    if not verdict.allow:
        return {"allow": False}
    edited = edited_result(row, verdict.text)
    return {"allow": True} if edited is None else {"allow": True, "content": edited}


def _written(value: Any) -> str:
    """Write a value so that equal ones are equal. Raises ValueError for what no database takes."""
    if plain.deep(value) != value:
        raise ValueError("it contains a character that can't be stored")
    return json.dumps(value, sort_keys=True)


def _where(problem: Exception) -> str:
    match problem:
        case json.JSONDecodeError(msg=message, lineno=line, colno=column):
            return f"{message[:1].lower()}{message[1:]}, line {line}, column {column}"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return str(problem)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
