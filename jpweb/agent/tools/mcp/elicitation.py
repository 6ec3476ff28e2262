"""The elicitations of a server during one call, as questions of the tool."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any, Literal

from jpweb.agent.ports import Answer, AskQuestion, Declined
from jpweb.agent.redaction import SecretAnswer, redact_text
from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS, Question
from jpweb.agent.tools.mcp.form_fields import FormField, read_fields
from jpweb.stream.answer_type import Secret
from jpweb.stream.errors import InvalidAnswer
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

#: Attempts to get a readable answer for a field.
_MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ElicitationReply:
    """The reply to the server."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = attribute(default=None, repr=False)  # may hold secrets


class Elicitation:
    """The elicitations of one call: one question after another, one for each field.

    ``pause`` is called when questions begin to wait and when they no longer do. An error of ``ask``
    is kept in ``failure``: the SDK would send it to the server as an answer. A call that is
    repeated (``begin_again``) gets its earlier replies to the same forms: no person is asked twice.
    """

    def __init__(self, ask: AskQuestion, pause: Callable[[bool], None]) -> None:
        self._ask = ask
        self._pause = pause
        self._lock = asyncio.Lock()
        self._ids: set[str] = set()
        self._tasks: set[asyncio.Task[ElicitationReply]] = set()
        # Replies by form, in this attempt of the call and in earlier ones.
        self._new_replies: dict[str, list[ElicitationReply]] = {}
        self._earlier_replies: dict[str, list[ElicitationReply]] = {}
        self._has_new_reply = False  # whether this attempt has a reply that no earlier one had
        self._form_count = 0  # of all attempts, without the forms that had an earlier reply
        self.secrets: list[SecretAnswer] = []
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def answer_form(self, message: str, schema: Mapping[str, Any]) -> ElicitationReply:
        """Ask for the fields of the form. The reply is ``cancel`` after ``close``.

        A form that no question of the call is left for is declined at once, and not kept.
        """
        if self.failure.done():
            return ElicitationReply("cancel")
        form = json.dumps([message, schema], sort_keys=True)
        if earlier_replies := self._earlier_replies.get(form):
            reply = earlier_replies.pop(0)
        elif self._form_count == MAX_CALL_QUESTIONS:
            return ElicitationReply("decline")
        else:
            self._form_count += 1
            reply = await self._run_form(message, schema)
            self._has_new_reply = True
        self._new_replies.setdefault(form, []).append(reply)
        return reply

    def begin_again(self) -> bool:
        """Keep the replies for another attempt of the call; return False where there is no new one.

        A server that refuses an attempt although it had all replies would refuse the next as well.
        """
        if not self._has_new_reply:
            return False
        for form, replies in self._new_replies.items():
            self._earlier_replies[form] = [*replies, *self._earlier_replies.get(form, [])]
        self._new_replies, self._has_new_reply = {}, False
        return True

    async def _run_form(self, message: str, schema: Mapping[str, Any]) -> ElicitationReply:
        task = asyncio.create_task(self._fill_form(message, schema))
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks.discard(task)
        if task.cancelled():
            return ElicitationReply("cancel")
        error = task.exception()
        if error is None:
            return task.result()
        if not self.failure.done():
            self.failure.set_exception(error)
            self.failure.exception()  # else asyncio logs it as never retrieved
        return ElicitationReply("cancel")

    def close(self) -> None:
        """End open questions: the call is over."""
        for task in self._tasks:
            task.cancel()
        self.failure.cancel()

    async def _fill_form(self, message: str, schema: Mapping[str, Any]) -> ElicitationReply:
        async with self._lock:
            try:
                form_fields = read_fields(schema)
            except InvalidAnswer:
                return ElicitationReply("decline")
            if len(self._ids) + len(form_fields) > MAX_CALL_QUESTIONS:
                return ElicitationReply("decline")  # the last ones could not be asked for
            self._pause(True)
            try:
                return await self._ask_fields(message, form_fields)
            finally:
                self._pause(False)  # also where the server cancels its form

    async def _ask_fields(self, message: str, form_fields: list[FormField]) -> ElicitationReply:
        content: dict[str, Any] = {}
        for form_field in form_fields:
            answer = await self._ask_field(message, form_field)
            if isinstance(answer, ElicitationReply):
                return answer
            if answer[0] is not None:
                content[form_field.name] = answer[0]
        return ElicitationReply("accept", content)

    async def _ask_field(
        self, message: str, form_field: FormField
    ) -> tuple[Any] | ElicitationReply:
        """Ask until the answer can be read; decline after the last attempt."""
        question_id, context = self._make_question_id(form_field.name), message
        for _ in range(_MAX_ATTEMPTS):
            match await self._ask(_make_question(question_id, form_field, context)):
                case Declined(reason):
                    return ElicitationReply(
                        "decline" if reason is CancellationReason.USER else "cancel"
                    )
                case Answer(value):
                    if isinstance(form_field.answer_type, Secret):
                        self.secrets.append(SecretAnswer(value))
                    try:
                        return (form_field.read_value(value),)
                    except InvalidAnswer as error:
                        context = f"{message}\n\n{error}"
        return ElicitationReply("decline")

    def _make_question_id(self, name: str) -> str:
        """Return a question id that is unique in the call and holds no secret."""
        safe_name = name.replace(".", "_").replace("\0", "_") or "field"
        if (
            redact_text(self.secrets, safe_name) != safe_name
            or redact_text(self.secrets, name) != name
        ):
            safe_name = "field"
        question_id, number = safe_name, 1
        while question_id in self._ids:
            number += 1
            question_id = f"{safe_name}_{number}"
        self._ids.add(question_id)
        return question_id


def _make_question(question_id: str, form_field: FormField, context: str) -> Question:
    """Return the question. Only a person may answer, and the answer is not remembered."""
    return Question(
        question_id,
        form_field.text,
        form_field.answer_type,
        form_field.default,
        context or None,
        exclusive=True,
        persistence=AnswerReusePolicy.NONE,
    )
