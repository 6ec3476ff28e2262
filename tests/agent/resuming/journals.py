"""The events of a turn whose call was asking when its process ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jpweb.agent.ports import ReplyFinished, TextDelta
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.events import ChatRequest, ConversationEvent, TurnStart
from jpweb.stream.inquiry import InquiryRequest, InquirySource
from tests.agent.doubles import AT, CONFIRM, QueueProvider, TurnBench, make_asker
from tests.agent.recorder import ListRecorder
from tests.builders import make_call

DONE = (TextDelta("message", "Done."), ReplyFinished())
START, SAYS, CALL = TurnStart(), ChatRequest("Go."), make_call("c1", "tool")
NOTE = {"tool_call_id": "c1", "tool": "tool", "question_id": "confirm", "attempt": 1}
WAITS = InquiryRequest(
    "c1.confirm.1", InquirySource.for_tool("tool"), CONFIRM.to_inquiry_question()
)


def event(kind: Any, **note: Any) -> ConversationEvent:
    return ConversationEvent(AT, kind, {"jpweb": note} if note else {})


def make_turn(*events: Any, tools: Any = None, replies: Any = (), **changes: Any) -> Any:
    """Return a turn that stands at these events; ``changes`` are those of its tools by name."""
    started_events = [event(START), event(SAYS)]
    recorder = ListRecorder(
        [*started_events, *(e if isinstance(e, ConversationEvent) else event(e) for e in events)]
    )
    tools = (make_asker(CONFIRM),) if tools is None else tuple(tools)
    turn = TurnBench(QueueProvider([DONE]), tools, list(replies), recorder)
    configs = tuple(replace(c, **changes.get(c.name, {})) for c in turn.setup.tools)
    turn.setup = replace(turn.setup, tools=configs)
    return turn


async def resume(turn: Any, **options: Any) -> TurnEnd:
    """Resume a turn; ``has_crashed``: its calls were running when the process ended."""
    if options.get("has_crashed"):
        turn.recorder.take_over_calls()
    return await resume_turn(turn.ports, turn.stop, turn.setup, **options)
