"""The events of a turn whose call was asking when its process ended."""

from __future__ import annotations

from typing import Any

from jpweb.agent.ports import ReplyFinished, TextDelta
from jpweb.stream.events import ChatRequest, ConversationEvent, TurnStart
from jpweb.stream.inquiry import InquiryRequest, InquirySource
from tests.agent.doubles import AT, CONFIRM
from tests.builders import make_call

DONE = (TextDelta("message", "Done."), ReplyFinished())
START, SAYS, CALL = TurnStart(), ChatRequest("Go."), make_call("c1", "tool")
NOTE = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}
WAITS = InquiryRequest(
    "c1.confirm.1", InquirySource.for_tool("tool"), CONFIRM.to_inquiry_question()
)


def event(kind: Any, **note: Any) -> ConversationEvent:
    return ConversationEvent(AT, kind, {"jpweb": note} if note else {})
