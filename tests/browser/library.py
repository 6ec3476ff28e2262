"""A workspace with one conversation that is too long to be on a page at once, and odd ones."""

from __future__ import annotations

import json
from pathlib import Path

from jpweb.stream import wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from tests import hostile
from tests.browser.payloads import PAYLOADS_TITLE, make_payloads
from tests.builders import AT
from tests.load import synthetic
from tests.machine.sizes import choose_size
from tests.store import making

#: The name of the workspace.
WORKSPACE = "shelf"
#: Elements of the long conversation: several times what a page keeps, and under proof more than
#: the ten thousand that are scrolled through.
LENGTH = choose_size(3_012, 10_200)
#: A position in its middle, and a turn that is loaded neither with that nor with the beginning.
MIDDLE, FAR_TURN = choose_size(1_500, 5_000), choose_size(170, 500)
#: The title of a conversation of tool calls alone, and how many there are.
MANY_CALLS, CALL_COUNT = "Many calls", 150
#: The title of a conversation of short messages, of which a page keeps fewer than there are.
MANY_MESSAGES, MESSAGE_COUNT = "Many messages", 750
#: The title of a conversation whose one result is cut on its page, and the last word of that.
LONG_RESULT, LAST_WORD = "A long result", "zanzibar"
#: The title of a conversation that holds the hostile documents.
HOSTILE_TITLE = "Twenty hostile documents"
#: Characters of the longest of them; under proof all are there.
MAX_DOCUMENT_LENGTH = choose_size(8_000, 2_000_000)


def write_library(folder: Path) -> Path:
    """Write the workspace into a folder; return its root."""
    root = synthetic.write_workspace(folder / WORKSPACE, LENGTH)
    _long_result(root)
    _many_calls(root)
    _many_messages(root)
    making.write_folder(
        root,
        "17670000003-hostile",
        hostile.make_conversation(MAX_DOCUMENT_LENGTH),
        title=HOSTILE_TITLE,
    )
    making.write_folder(root, "17670000004-payloads", make_payloads(), title=PAYLOADS_TITLE)
    return root


def _long_result(root: Path) -> None:
    kinds: list[EventKind] = [
        TurnStart(),
        ChatRequest("Count"),
        ToolCallRequest("call_1", "count", {"to": 5_000}),
        ToolCallResponse("call_1", " ".join([*map(str, range(5_000)), LAST_WORD]), is_error=False),
    ]
    _write_conversation(root / ".jp" / "conversations" / "17670000001-long", LONG_RESULT, kinds)


def _many_calls(root: Path) -> None:
    """Write a conversation of calls at the positions 2, 4, 6; every fifth one writes."""
    kinds: list[EventKind] = [TurnStart(), ChatRequest("Read")]
    for number in range(CALL_COUNT):
        tool = "write" if number % 5 == 4 else "read"
        kinds.append(ToolCallRequest(f"call_{number}", tool, {"line": number}))
        kinds.append(ToolCallResponse(f"call_{number}", "done", is_error=False))
    _write_conversation(root / ".jp" / "conversations" / "17670000002-calls", MANY_CALLS, kinds)


def _many_messages(root: Path) -> None:
    kinds: list[EventKind] = [TurnStart(), ChatRequest("Count")]
    kinds += [ChatResponse("message", str(number)) for number in range(MESSAGE_COUNT)]
    folder = root / ".jp" / "conversations" / "17670000005-messages"
    _write_conversation(folder, MANY_MESSAGES, kinds)


def _write_conversation(folder: Path, title: str, kinds: list[EventKind]) -> None:
    events = [wire.write_element(ConversationEvent(AT, kind)).raw for kind in kinds]
    folder.mkdir()
    (folder / "events.json").write_text(wire.join_array(events))
    about = {"title": title, "last_activated_at": AT}
    (folder / "metadata.json").write_text(json.dumps(about))
