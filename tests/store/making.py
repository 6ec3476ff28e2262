"""Rows and folders that tests of the store, the runtime and the pages begin with."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from jpweb.store import approvals, conversations, inquiries, journal, runs
from jpweb.store.choices import ApprovalKind, Origin, Role
from jpweb.store.inquiries import Decider
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    JournalEntry,
    Membership,
    Person,
    Run,
    Workspace,
)
from jpweb.store.run_queue import leases
from jpweb.stream import wire
from jpweb.stream.answer_type import AnswerType
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    Element,
    EventKind,
    ToolCallRequest,
    TurnStart,
)
from jpweb.stream.inquiry import Answered, InquiryOutcome, InquiryResponse
from jpweb.stream.outline import build_outline
from tests.builders import AT, make_inquiry, stream

HOLDER = "test"
LEASE_SECONDS = 60
ANSWER = Answered(True)
_numbers = count(1)


def workspace(name: str = "Garden") -> Workspace:
    root = f"/nowhere/{next(_numbers)}"
    return Workspace.objects.create(name=name, root=root, jp_id="abcde", copies_id="abcde")


def person(name: str = "", role: Role | None = None, workspace: Workspace | None = None) -> Person:
    """Return a new person, a member where a role and a workspace are given."""
    name = name or f"person{next(_numbers)}"
    new_person = Person.objects.create(username=name, first_name=name.capitalize())
    if role is not None and workspace is not None:
        Membership.objects.create(
            person=new_person, workspace=workspace, role=role, direct_role=role
        )
    return new_person


def conversation(workspace: Workspace, title: str = "A talk", starter: Person | None = None) -> Any:
    """Return a native conversation, begun as people begin one."""
    return conversations.create_conversation(workspace, title, (starter or person()).pk)


def mirrored_conversation(workspace: Workspace, *kinds: Any) -> Conversation:
    """Return a conversation of jp's that holds these."""
    elements = stream(*kinds)
    row: Conversation = conversation(workspace)
    row.origin = Origin.MIRRORED
    outline = build_outline(elements)
    journal.replace_elements(row, elements, outline.anchors)
    inquiries.rebuild_rows(row, outline)
    row.save()
    return row


def event(kind: EventKind, at: str = AT, by: Decider | None = None) -> ConversationEvent:
    return ConversationEvent(at, kind, by.make_note() if by else {})


def start_run(
    conversation: Conversation, starter: Person | None = None, holder: str = HOLDER
) -> Run:
    """Return a run whose turn has called one tool."""
    queued_run = runs.start_run(conversation.pk, (starter or person()).pk, "scripted")
    run = acquire_run(queued_run, holder)
    kinds = (TurnStart(), ChatRequest("Hello", author="Ada"), ToolCallRequest("call_1", "vault"))
    journal.append_events(conversation.pk, [event(kind) for kind in kinds], run)
    return run


def acquire_run(run: Run, holder: str = HOLDER, seconds: float = LEASE_SECONDS) -> Run:
    """Return a queued run as its holder has it."""
    leased_run = leases.acquire_lease(run.pk, holder, seconds)
    assert leased_run is not None
    return leased_run


def question(run: Run, kind: AnswerType | None = None, text: str = "Go on?") -> Inquiry:
    """Return the row of a new question that the run holds open."""
    inquiry_id = f"call_1.q{next(_numbers)}.1"
    journal.append_events(
        run.conversation_id, [event(make_inquiry(inquiry_id, text, type=kind))], run
    )
    return inquiries.get_inquiry(inquiries.find_by_inquiry_id(run.conversation_id, inquiry_id).pk)


def prompt(run: Run, kind: ApprovalKind = ApprovalKind.RUN, **fields: Any) -> Approval:
    """Return the row of a new prompt of the run."""
    usual: dict[ApprovalKind, dict[str, Any]] = {
        ApprovalKind.RUN: {"described": "vault (local)", "arguments": {"path": "a.md"}},
        ApprovalKind.DELIVER: {"content": "All done.", "is_error": False},
    }
    details = {"edit": False} | usual[kind] | fields
    return approvals.request_approval(
        run.conversation_id, kind, f"call_{next(_numbers)}", "vault", details
    )


def settle(
    row: Inquiry, outcome: InquiryOutcome, by: Decider | None = None, **details: bool | str
) -> Inquiry:
    response = InquiryResponse(row.inquiry_id, outcome)
    note = (by or Decider("system")).make_note(**details)
    journal.append_events(row.conversation_id, [ConversationEvent(AT, response, note)])
    return inquiries.get_inquiry(row.pk)


def decider(who: Person) -> Decider:
    return Decider.from_person(who)


def write_folder(
    root: Path,
    name: str,
    elements: Sequence[Element] | bytes | None,
    archived: bool = False,
    **about: Any,
) -> Path:
    """Write a conversation's folder of a JP workspace; return it."""
    home = root / ".jp" / "conversations"
    folder = (home / ".archive" if archived else home) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata.json").write_text(json.dumps({"title": name} | about))
    if elements is not None:
        data = elements if isinstance(elements, bytes) else stream_file(elements)
        (folder / "events.json").write_bytes(data)
    return folder


def stream_file(elements: Sequence[Element]) -> bytes:
    return wire.join_array([element.raw for element in elements]).encode()


def read_tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below with its bytes and its time, to tell whether anything was written."""
    return {
        str(path.relative_to(root)): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
    }


def count_entries(conversation_id: int) -> int:
    """Return how many entries the journal holds, counted."""
    return JournalEntry.objects.filter(conversation_id=conversation_id).count()


def set_mtime(path: Path, when: int) -> None:
    """Set when a file was changed, in seconds."""
    os.utime(path, (when, when))
