"""What a tool's output means (RFD 009, 028, 082, 083)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from jpweb.agent.outcome import Failed, NeedsInput, Outcome, Question, Success
from jpweb.agent.tools.local.process import Ended
from jpweb.stream.answers import AnswerType, Select
from jpweb.stream.errors import BrokenElement
from jpweb.stream.inquiry import InquiryQuestion

#: Takes secrets out of a JSON value: out of a text, or of neighbouring texts in a list.
Clean = Callable[[Any], Any]


def outcome(name: str, ended: Ended, clean: Clean) -> Outcome:
    """Return what the program's end means for the call.

    The whole of stdout is one JSON value of a known shape, and then the exit status says nothing;
    or it is text. ``clean`` takes secrets out of what is repeated; a question is left as it is, for
    who runs the tool to free it of them.
    """
    stdout = ended.stdout.decode(errors="replace")
    match _json(stdout):
        case {"type": "success", "content": str(content)}:
            return Success(clean(content))
        case {"type": "error", "message": str(message), "trace": list(trace), "transient": True}:
            said, *lines = clean([message, *map(str, trace)])
            return Failed(_text({"message": said, "trace": lines}))
        case {"type": "error", "message": str(), "trace": list(), "transient": False}:
            return Failed(clean(stdout))
        case {"type": "needs_input", "question": asked}:
            return _asking(name, asked, clean)
        case _ if ended.returncode == 0:
            return Success(clean(stdout))
    stderr, stdout = clean([ended.stderr.decode(errors="replace"), stdout])
    message = f"Tool '{name}' execution failed."
    return Failed(_text({"message": message, "stderr": stderr, "stdout": stdout}))


def _asking(name: str, asked: Any, clean: Clean) -> Outcome:
    try:
        return NeedsInput(_question(asked))
    except BrokenElement as error:
        # The error may repeat a piece of the question, and so a piece of a secret in it.
        why = f": {error}" if clean(asked) == asked else ""
        return Failed(
            f"{name} asked a question that cannot be put{why}. This is a mistake "
            "in the tool. Do not retry; continue without it."
        )


def _question(asked: Any) -> Question:
    """Read a question as tools write it, of either age. Raises BrokenElement."""
    if not isinstance(asked, Mapping) or not isinstance(asked.get("id"), str):
        raise BrokenElement("it must be an object with an “id”")
    fields = {"context": asked.get("pre_amble"), **asked}
    read = InquiryQuestion.from_fields({**fields, "answer_type": _tagged(asked.get("answer_type"))})
    _check(read.answer_type)
    fits = read.default is not None and read.answer_type.fits(read.default)
    return Question(
        asked["id"],
        read.text,
        read.answer_type,
        read.default if fits else None,
        read.context,
        read.exclusive,
        read.persistence,
    )


def _tagged(written: Any) -> Any:
    """Return ``"Boolean"`` for ``{"Boolean": null}``, which JP reads too."""
    match written:
        case dict() if len(written) == 1 and list(written.values()) == [None]:
            return next(iter(written))
        case _:
            return written


def _check(kind: AnswerType) -> None:
    if isinstance(kind, Select) and not kind.options:
        raise BrokenElement("a select needs at least one option")


def _json(text: str) -> Any:
    """Return the JSON value, or None where it is none that JP would read."""
    try:
        value = json.loads(text, parse_constant=_no_json)
        json.dumps(value, ensure_ascii=False).encode()  # refuses halves of characters
    except (ValueError, RecursionError):
        return None
    return value


def _no_json(name: str) -> NoReturn:
    raise ValueError(name)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
