"""Redaction of what the scanner masked before: masks hide the text that copies are searched for."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.choices import RunState
from jpweb.store.jp_files import mirror
from jpweb.store.models import (
    Approval,
    Conversation,
    Person,
    Run,
    SuspectedSecret,
    Turn,
    Workspace,
)
from jpweb.store.suspected_secrets import suggestions
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest
from tests.builders import stream
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import scan_all
from tests.store.redaction.canary import CANARY, anchor_at, decide, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
AWS_KEY = "AKIACANARYCANARY7F3A"
OTHER_KEY = f"ghp_{'a1B2' * 9}"
FOLDER = "17000000000-a-talk"
REPLIED = ChatResponse("message", "Done")
MARKER = "[redacted by Ada: a leaked key]"


def mirror_conversation(root: Path, title: str, *kinds: ChatRequest | ChatResponse) -> Conversation:
    """Let jp write a conversation of these events, and read it."""
    write = making.write_folder
    write(root, FOLDER, stream(*kinds), title=title)
    mirror.mirror_workspace(root)
    return Conversation.objects.get()


@pytest.mark.parametrize(
    ("string", "title"),
    [
        ("", MARKER),
        ("marker", f"Log in with {MARKER}"),
        (AWS_KEY, f"Log in with {MARKER}"),
        ("CANARY", f"Log in with AKIA{MARKER}{MARKER}7F3A"),
        ("with AKIA", f"Log in {MARKER}CANARYCANARY7F3A"),
    ],
    ids=["whole", "marker", "secret", "part", "overlap"],
)
def test_masked_title_stays_redacted_when_jp_adds_an_event(
    tmp_path: Path, ada: Person, string: str, title: str
):
    file_title, asked = f"Log in with {AWS_KEY}", ChatRequest(f"Log in with {AWS_KEY}")
    conversation = mirror_conversation(tmp_path, file_title, asked)
    scan_all()
    assert AWS_KEY not in Conversation.objects.get().title
    strings = [SuspectedSecret.objects.get().marker if string == "marker" else string]
    redact(conversation, ada, anchor_at(conversation, 0), *filter(None, strings))
    assert Conversation.objects.get().title == title
    assert mirror_conversation(tmp_path, file_title, asked, REPLIED).title == title
    scan_all()
    assert not has_secret(dump_tables(), AWS_KEY)


def test_redacted_title_keeps_its_other_masks_when_jp_adds_an_event(tmp_path: Path, ada: Person):
    file_title = f"Use {AWS_KEY}, PIN 4711 or {OTHER_KEY[:9]}…"
    asked = ChatRequest(f"Use {AWS_KEY}, PIN 4711 or {OTHER_KEY}")
    conversation = mirror_conversation(tmp_path, file_title, asked)
    scan_all()
    masked_title = Conversation.objects.get().title
    redact(conversation, ada, anchor_at(conversation, 0), "PIN 4711")
    title = masked_title.replace("PIN 4711", MARKER)
    assert mirror_conversation(tmp_path, file_title, asked, REPLIED).title == title
    row = SuspectedSecret.objects.get(kind="AWS Access Key")
    suggestions.dismiss(row, ada, "an example")
    title = title.replace(row.marker, AWS_KEY)
    assert Conversation.objects.get().title == title
    assert mirror_conversation(tmp_path, file_title, asked, REPLIED, REPLIED).title == title
    assert not has_secret(dump_tables(), "PIN 4711")


@pytest.mark.parametrize("length", [470, 485, 492])
def test_title_whose_mask_was_cut_stays_redacted(tmp_path: Path, ada: Person, length: int):
    file_title, asked = "x" * length + AWS_KEY, ChatRequest(f"Log in with {AWS_KEY}")
    conversation = mirror_conversation(tmp_path, file_title, asked)
    scan_all()
    assert len(Conversation.objects.get().title) == 500
    redact(conversation, ada, anchor_at(conversation, 0), SuspectedSecret.objects.get().marker)
    title = f"{'x' * length}{MARKER}"[:500]
    assert Conversation.objects.get().title == title
    assert mirror_conversation(tmp_path, file_title, asked, REPLIED).title == title
    assert not has_secret(dump_tables(), AWS_KEY[:8])


@pytest.mark.parametrize("end", ["", "\nPlease", " and look it up, please, and say so" * 6])
def test_redact_message_removes_its_content_from_masked_titles(
    workspace: Workspace, ada: Person, end: str
):
    text = f"Log in with {AWS_KEY} to Berta's, {CANARY}{end}"
    conversation = making.mirrored_conversation(workspace, ChatRequest(text))
    Conversation.objects.update(title=text.splitlines()[0][:60])
    scan_all()
    titles = [Conversation.objects.get().title, Turn.objects.get().title]
    assert [title.startswith("Log in with [masked AWS") for title in titles] == [True, True]
    redact(conversation, ada, anchor_at(conversation, 0))
    assert [Conversation.objects.get().title, Turn.objects.get().title] == [MARKER, MARKER]
    tables = dump_tables()
    assert [text for text in ("Berta", CANARY, AWS_KEY) if has_secret(tables, text)] == []


def test_redact_message_removes_its_content_from_a_title_cut_in_a_secret(
    workspace: Workspace, ada: Person
):
    text = f"Look up Berta's, {CANARY}, and then log in by {AWS_KEY}, please"
    conversation = making.mirrored_conversation(workspace, ChatRequest(text))
    Conversation.objects.update(title=text[:60])
    assert text[:60].endswith(AWS_KEY[:9])
    scan_all()
    assert "[masked AWS" in Conversation.objects.get().title
    redact(conversation, ada, anchor_at(conversation, 0))
    assert Conversation.objects.get().title == MARKER
    assert not has_secret(dump_tables(), CANARY)


def test_redact_string_of_a_message_removes_it_from_masked_titles(
    workspace: Workspace, ada: Person
):
    conversation = making.mirrored_conversation(
        workspace, ChatRequest(f"Log in with {AWS_KEY}, {CANARY}")
    )
    Conversation.objects.update(title=f"Log in with {AWS_KEY}, {CANARY}")
    scan_all()
    masked_title = Turn.objects.get().title
    redact(conversation, ada, anchor_at(conversation, 0), CANARY)
    title = masked_title.replace(CANARY, MARKER)
    assert [Conversation.objects.get().title, Turn.objects.get().title] == [title, title]


@pytest.fixture
def masked_call(workspace: Workspace) -> Conversation:
    """Return a conversation of a call, whose approval and failed run repeat it with masks."""
    said = f"open it with {AWS_KEY}, {CANARY}"
    arguments = {"edits": [{AWS_KEY: said}, {f"x {AWS_KEY}": 1}]}
    conversation = making.mirrored_conversation(workspace, ToolCallRequest("c", "vault", arguments))
    decide(conversation, arguments=arguments, reason=f"Yes: {said}")
    making.start_run(making.conversation(workspace))
    Run.objects.update(conversation=conversation, state=RunState.DONE, problem=f"Can't {said}.")
    scan_all()
    copies = f"{Approval.objects.get().decision} {Run.objects.get().problem}"
    assert (copies.count("[masked AWS"), copies.count(CANARY)) == (5, 3)
    return conversation


def test_redact_call_removes_its_content_from_the_masked_approval(
    masked_call: Conversation, ada: Person
):
    redact(masked_call, ada, anchor_at(masked_call, 0))
    approval = Approval.objects.get()
    edits = [{MARKER: MARKER}, {MARKER: 1}]
    assert approval.decision == {
        "allow": True,
        "arguments": {MARKER: edits},
        "reason": f"Yes: {MARKER}",
    }
    assert approval.digest == ""
    assert Run.objects.get().problem == f"Can't {MARKER}."
    assert not has_secret(dump_tables(), CANARY)


def test_redact_string_of_a_call_removes_it_from_the_masked_approval(
    masked_call: Conversation, ada: Person
):
    mask = SuspectedSecret.objects.all()[0].marker
    redact(masked_call, ada, anchor_at(masked_call, 0), CANARY)
    said = f"open it with {mask}, {MARKER}"
    assert Approval.objects.get().decision == {
        "allow": True,
        "arguments": {"edits": [{mask: said}, {f"x {mask}": 1}]},
        "reason": f"Yes: {said}",
    }
    assert Run.objects.get().problem == f"Can't {said}."
    assert not has_secret(dump_tables(), CANARY)
