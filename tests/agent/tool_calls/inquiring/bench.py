"""A backend whose models play replies, and the call whose question it answers."""

from __future__ import annotations

from typing import Any

from jpweb.agent.config import InquiryConfig, ModelConfig, QuestionConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.ports import ReplyFinished, StructuredReply
from jpweb.agent.tool_calls.inquiry_backend import LlmInquiryBackend
from jpweb.stream.answer_type import Option, Select
from jpweb.stream.events import ChatRequest, TurnStart
from tests.agent.doubles import CONFIRM, QueueProvider
from tests.builders import asked, called, stream

MAIN = ModelConfig("vendor", "main")
CALL = called("c1", "fs_modify_file")
STREAM = stream(TurnStart(), ChatRequest("Go."), CALL, asked("c1.confirm.1"))
INTERRUPTED = "Tool call was interrupted."
COLOURS = Select((Option("red", "like roses"), Option("blue"), Option(3)))


def reply(answer) -> Any:
    return (StructuredReply({"answer": answer}), ReplyFinished())


class Bench:
    """A backend whose models play the replies, and whose pauses are noted."""

    def __init__(self, *replies, **more) -> None:
        self.provider = QueueProvider(replies)
        self.opened: list[ModelConfig] = []
        self.pauses: list[float] = []
        self.backend = LlmInquiryBackend(
            self.open, MAIN, **{"system": ("Be brief.",), "pause": self.pause, **more}
        )

    def open(self, model) -> Any:
        self.opened.append(model)
        return self.provider

    async def pause(self, seconds) -> None:
        self.pauses.append(seconds)

    async def inquire(self, question=CONFIRM, elements=STREAM, **overrides) -> Any:
        config = QuestionConfig(inquiry=InquiryConfig(**overrides))
        return await self.backend.inquire(elements, CALL, question, config)

    @property
    def sent(self) -> Any:
        [request] = self.provider.requests
        return request


def failure(kind=FailureKind.RATE_LIMIT, after=None) -> ProviderFailed:
    return ProviderFailed("Too many requests.", kind, after)
