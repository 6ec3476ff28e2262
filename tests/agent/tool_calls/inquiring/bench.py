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
from tests.builders import make_call, make_inquiry, stream

MAIN = ModelConfig("vendor", "main")
CALL = make_call("c1", "fs_modify_file")
STREAM = stream(TurnStart(), ChatRequest("Go."), CALL, make_inquiry("c1.confirm.1"))
INTERRUPTED = "Tool call was interrupted."
COLORS = Select((Option("red", "like roses"), Option("blue"), Option(3)))


def make_reply(answer) -> Any:
    return (StructuredReply({"answer": answer}), ReplyFinished())


class BackendBench:
    """A backend whose models play the replies, and whose pauses are noted."""

    def __init__(self, *replies, **options) -> None:
        self.provider = QueueProvider(replies)
        self.opened_models: list[ModelConfig] = []
        self.pauses: list[float] = []
        self.backend = LlmInquiryBackend(
            self.open, MAIN, **{"system": ("Be brief.",), "pause": self.pause, **options}
        )

    def open(self, model) -> Any:
        self.opened_models.append(model)
        return self.provider

    async def pause(self, seconds) -> None:
        self.pauses.append(seconds)

    async def inquire(self, question=CONFIRM, elements=STREAM, **overrides) -> Any:
        config = QuestionConfig(inquiry=InquiryConfig(**overrides))
        return await self.backend.inquire(elements, CALL, question, config)

    @property
    def request(self) -> Any:
        [request] = self.provider.requests
        return request


def make_failure(kind=FailureKind.RATE_LIMIT, after=None) -> ProviderFailed:
    return ProviderFailed("Too many requests.", kind, after)
