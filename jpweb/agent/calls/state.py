"""What one turn keeps in memory (RFD 082 *Inquiry ID format*, *Splitting the turn-cache state*)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.agent.ports import Declined
from jpweb.agent.resting import Resting
from jpweb.stream.events import ConversationEvent, Element, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    Outcome,
)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What an answer is remembered under; holds for every later call of the tool in the turn.

    ``definition`` is that of the tool then: an answer does not hold for a tool that has changed.
    """

    tool_name: str
    question_id: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class PermissionKey:
    """What a permission is remembered under: the tool as it was, whatever its arguments."""

    tool_name: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a call runs with: its complete arguments, and the definition of its tool then.

    ``arguments`` is None where they are those of the recorded call. ``asked``: somebody was to
    permit the call, so that without the grant somebody has to be asked.
    """

    arguments: Mapping[str, Any] | None = None
    definition: str = ""
    asked: bool = True

    def note(self) -> dict[str, Any]:
        """Return what is noted beside each question of the call."""
        noted: dict[str, Any] = {"permitted": True} if self.asked else {}
        if self.definition:
            noted["definition"] = self.definition
        return noted if self.arguments is None else noted | {"arguments": dict(self.arguments)}

    @classmethod
    def noted(cls, note: Mapping[str, Any]) -> Self:
        """Read a note; what is not as it should be counts as not noted."""
        arguments, definition = note.get("arguments"), note.get("definition")
        return cls(
            arguments if isinstance(arguments, Mapping) else None,
            definition if isinstance(definition, str) else "",
            note.get("permitted") is True,
        )


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer given earlier in the turn; a value of its own so that JSON null can be one."""

    value: Any


@dataclass(frozen=True, slots=True)
class QuestionKey:
    """A question of one call, whatever the attempt."""

    tool_call_id: str
    question_id: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A request on record that waits for its response since before the process ended.

    ``with_person``: it was put before people. ``definition``: of the tool that asked.
    """

    key: QuestionKey
    request: InquiryRequest
    with_person: bool
    definition: str = ""


@dataclass(slots=True)
class TurnState:
    """What a turn remembers; each makes one of its own.

    Of a turn that goes on after its process ended also what its unfinished calls had come to:
    questions that still wait, that were answered, that a person declined or nobody answered in
    time. ``grants`` holds what the calls of the batch run with, once they were let through the
    gate. ``patient``: the questions that wait are with a person, and wait on for one; where it is
    false, those of which that is noted still do.
    """

    remembered_tool_answers: dict[AnswerKey, Remembered] = field(default_factory=dict)
    remembered_permission_decisions: dict[PermissionKey, bool] = field(default_factory=dict)
    _attempts: Counter[QuestionKey] = field(default_factory=Counter)
    _inquiry_ids: set[str] = field(default_factory=set, compare=False)
    _waiting: dict[str, OpenQuestion] = field(default_factory=dict)
    _answered: dict[QuestionKey, Remembered] = field(default_factory=dict)
    _closed: dict[QuestionKey, Declined] = field(default_factory=dict)
    _paused: set[str] = field(default_factory=set)
    _granted: dict[str, Grant] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    patient: bool = True
    resting: Resting = field(default_factory=Resting, compare=False)

    @classmethod
    def resumed(cls, elements: Iterable[Element], *, crashed: bool = False) -> Self:
        """Return the state of a turn that goes on; ``elements`` are those of this turn alone.

        It is built from what jpweb noted beside each request. Ids are never parsed. Permissions
        are asked for anew, but for calls that wait at a question. ``crashed``: the turn was not put
        down, so that its calls may have been running with the answers that are on record.
        """
        state = cls(patient=not crashed)
        asked: dict[str, tuple[QuestionKey, AnswerKey]] = {}
        for element in elements:
            body = element.body
            if element.tag == InquiryRequest.TAG:
                state._inquiry_ids.add(_inquiry_id(element))
            if not isinstance(body, ConversationEvent):
                continue
            note = body.metadata.get("jpweb")
            match body.kind:
                case InquiryRequest() as request:
                    asked |= state._request(request, note)
                case InquiryResponse(inquiry_id, outcome) if inquiry_id in asked:
                    state._waiting.pop(inquiry_id, None)
                    state._response(*asked[inquiry_id], outcome, note)
                case ToolCallResponse(tool_call_id):
                    state._call_ended(tool_call_id)
                case _:
                    pass
        return state

    def next_attempt(self, tool_call_id: str, question_id: str) -> tuple[int, str]:
        """Count one more recording of the question by the call; return its number and inquiry id.

        Numbers begin at 1. Those whose ids any program has used in the turn are left out.
        """
        key = QuestionKey(tool_call_id, question_id)
        while True:
            self._attempts[key] += 1
            inquiry_id = f"{tool_call_id}.{question_id}.{self._attempts[key]}"
            if inquiry_id not in self._inquiry_ids:
                self._inquiry_ids.add(inquiry_id)
                return self._attempts[key], inquiry_id

    def take_answers(self, tool_call_id: str) -> dict[str, Any]:
        """Return, once, the answers on record that the call had before its process ended."""
        keys = [key for key in self._answered if key.tool_call_id == tool_call_id]
        return {key.question_id: self._answered.pop(key).value for key in keys}

    def take_waiting(self, tool_call_id: str, question_id: str) -> OpenQuestion | None:
        """Return, once, the question on record that still waits for its response."""
        key = QuestionKey(tool_call_id, question_id)
        first = next((each for each in self._waiting.values() if each.key == key), None)
        return None if first is None else self._waiting.pop(first.request.id)

    def take_left(self, tool_call_id: str) -> list[OpenQuestion]:
        """Return, once, the questions that still wait although their call has ended."""
        left = [each for each in self._waiting.values() if each.key.tool_call_id == tool_call_id]
        return [self._waiting.pop(each.request.id) for each in left]

    def take_closed(self, tool_call_id: str, question_id: str) -> Declined | None:
        """Return, once, how the question was closed for good before the process ended."""
        return self._closed.pop(QuestionKey(tool_call_id, question_id), None)

    def paused(self, tool_call_id: str) -> bool:
        """Tell whether the call was not running when its process ended: it had asked instead.

        A tool that asks is run again from its start by its protocol, so that is nothing to tell.
        """
        return tool_call_id in self._paused

    def take_grant(self, tool_call_id: str, definition: str) -> Grant | None:
        """Return, once, what a paused call runs with; None where nothing is known of that.

        Where the tool has changed since, there is none, and the answers that the call had are
        forgotten: they were given to another tool.
        """
        grant = self._granted.pop(tool_call_id, None)
        if grant is None:
            return None
        if grant.definition != definition:
            self.take_answers(tool_call_id)
            return None
        return grant if self.paused(tool_call_id) else None

    def _request(
        self, request: InquiryRequest, noted: Any
    ) -> dict[str, tuple[QuestionKey, AnswerKey]]:
        match noted:
            case {"tool_call_id": str(tool_call_id), "question_id": str(question_id)}:
                key = QuestionKey(tool_call_id, question_id)
            case _:  # another program's request, of which nothing but the id is known
                return {}
        self._attempts[key] += 1
        grant = Grant.noted(noted)
        person = noted.get("person") is True
        self._waiting[request.id] = OpenQuestion(key, request, person, grant.definition)
        self._closed.pop(key, None)  # it is asked anew: the call was restarted
        if noted.get("in_call") is not True:
            self._paused.add(tool_call_id)
        self._granted[tool_call_id] = grant
        tool = noted.get("tool")
        named = tool if isinstance(tool, str) else ""
        return {request.id: (key, AnswerKey(named, question_id, grant.definition))}

    def _response(self, key: QuestionKey, kept: AnswerKey, outcome: Outcome, noted: Any) -> None:
        note = noted if isinstance(noted, Mapping) else {}
        if isinstance(outcome, Answered):
            if not self.patient or _from_here(note):
                self._paused.discard(key.tool_call_id)  # it went on at once
            self._answered[key] = Remembered(outcome.answer)
            if kept.tool_name and note.get("remember") is True:
                self.remembered_tool_answers[kept] = Remembered(outcome.answer)
            return
        closed = _closed(outcome, note)
        if closed is None:
            self._paused.discard(key.tool_call_id)
        else:
            self._closed[key] = closed

    def _call_ended(self, tool_call_id: str) -> None:
        """Forget what a call had come to: another may have its id."""
        for key in [key for key in self._answered if key.tool_call_id == tool_call_id]:
            del self._answered[key]
        self.take_left(tool_call_id)
        for key in [key for key in self._closed if key.tool_call_id == tool_call_id]:
            del self._closed[key]
        self._paused.discard(tool_call_id)
        self._granted.pop(tool_call_id, None)


def _inquiry_id(element: Element) -> str:
    """Return the id of a request, also of one whose question this version cannot read."""
    if isinstance(element.kind, InquiryRequest):
        return element.kind.id
    with suppress(ValueError, RecursionError):
        found = json.loads(element.raw).get("id")
        if isinstance(found, str):
            return found
    return ""


def _from_here(note: Mapping[str, Any]) -> bool:
    """Tell whether the process itself answered, so that the call got the answer at once."""
    by = note.get("by")
    kind = by.get("kind") if isinstance(by, Mapping) else None
    return kind in ("configuration", "memory", "assistant")


def _closed(outcome: Outcome, note: Mapping[str, Any]) -> Declined | None:
    """Return how a question was closed for good; what an interrupt withdrew is asked again."""
    if outcome == Cancelled(CancellationReason.EXPIRED):
        return Declined(CancellationReason.EXPIRED)
    if outcome == Cancelled(CancellationReason.USER) and note.get("withdrawn") is not True:
        said = note.get("note")
        return Declined(CancellationReason.USER, said if isinstance(said, str) else "")
    return None
