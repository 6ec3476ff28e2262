"""What a server asks during one call, put to whoever answers the tool's questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any, Literal

from jpweb.agent.outcome import Question
from jpweb.agent.ports import Answer, Ask, Declined
from jpweb.agent.redaction import SecretAnswer, without
from jpweb.agent.tools.mcp.fields import Field, fields
from jpweb.stream.answers import Secret
from jpweb.stream.errors import Unfit
from jpweb.stream.inquiry import AnswerReusePolicy, CancellationReason

#: How often a field is asked for until its answer can be read.
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server is told."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = attribute(default=None, repr=False)  # may hold secrets


class Elicitation:
    """The elicitations of one call: one question after another, one for each field.

    ``pause`` is told when questions begin to wait and when they no longer do. What ``ask``
    raises is kept in ``failure``: the SDK would make an answer to the server of it. A call that is
    made again (``begin_again``) gets the replies it had to the same forms: nobody is asked twice.
    """

    def __init__(self, ask: Ask, pause: Callable[[bool], None]) -> None:
        self._ask = ask
        self._pause = pause
        self._one = asyncio.Lock()
        self._ids: set[str] = set()
        self._running: set[asyncio.Task[Reply]] = set()
        self._given: dict[str, list[Reply]] = {}  # in this attempt of the call, by form
        self._kept: dict[str, list[Reply]] = {}  # in earlier attempts
        self._has_news = False  # a reply that the server has not had
        self.secrets: list[SecretAnswer] = []
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def answer(self, message: str, schema: Mapping[str, Any]) -> Reply:
        """Ask for what the form wants. Ended by ``close`` it is a cancelled one."""
        if self.failure.done():
            return Reply("cancel")
        form = json.dumps([message, schema], sort_keys=True)
        if kept := self._kept.get(form):
            reply = kept.pop(0)
        else:
            reply = await self._answered(message, schema)
            self._has_news = True
        self._given.setdefault(form, []).append(reply)
        return reply

    def begin_again(self) -> bool:
        """Keep the replies for another attempt of the call; False where there is no new one.

        A server that refuses an attempt although it had all replies would refuse the next as well.
        """
        if not self._has_news:
            return False
        for form, replies in self._given.items():
            self._kept[form] = [*replies, *self._kept.get(form, [])]
        self._given, self._has_news = {}, False
        return True

    async def _answered(self, message: str, schema: Mapping[str, Any]) -> Reply:
        task = asyncio.create_task(self._fill(message, schema))
        self._running.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._running.discard(task)
        if task.cancelled():
            return Reply("cancel")
        error = task.exception()
        if error is None:
            return task.result()
        if not self.failure.done():
            self.failure.set_exception(error)
            self.failure.exception()  # so that nobody misses it where the call ends otherwise
        return Reply("cancel")

    def close(self) -> None:
        """End what is still asked: the call is over."""
        for task in self._running:
            task.cancel()
        self.failure.cancel()

    async def _fill(self, message: str, schema: Mapping[str, Any]) -> Reply:
        async with self._one:
            try:
                wanted = fields(schema)
            except Unfit:
                return Reply("decline")
            self._pause(True)
            reply = await self._ask_all(message, wanted)
            self._pause(False)
            return reply

    async def _ask_all(self, message: str, wanted: list[Field]) -> Reply:
        content: dict[str, Any] = {}
        for each in wanted:
            read = await self._read(message, each)
            if isinstance(read, Reply):
                return read
            if read[0] is not None:
                content[each.name] = read[0]
        return Reply("accept", content)

    async def _read(self, message: str, each: Field) -> tuple[Any] | Reply:
        """Ask until the answer can be read; decline where it never can."""
        question_id, context = self._id(each.name), message
        for _ in range(_ATTEMPTS):
            match await self._ask(_question(question_id, each, context)):
                case Declined(reason):
                    return Reply("decline" if reason is CancellationReason.USER else "cancel")
                case Answer(value):
                    if isinstance(each.answer_type, Secret):
                        self.secrets.append(SecretAnswer(value))
                    try:
                        return (each.value(value),)
                    except Unfit as error:
                        context = f"{message}\n\n{error}"
        return Reply("decline")

    def _id(self, name: str) -> str:
        """Return an id for the field that no other question of the call has, and no secret."""
        plain = name.replace(".", "_") or "field"
        if without(self.secrets, plain) != plain or without(self.secrets, name) != name:
            plain = "field"
        made, number = plain, 1
        while made in self._ids:
            number += 1
            made = f"{plain}_{number}"
        self._ids.add(made)
        return made


def _question(question_id: str, each: Field, context: str) -> Question:
    """Return the question. It is meant for a person, and for this once."""
    return Question(
        question_id,
        each.text,
        each.answer_type,
        each.default,
        context or None,
        exclusive=True,
        persistence=AnswerReusePolicy.NONE,
    )
