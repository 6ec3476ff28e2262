"""The scanner: what it finds is masked in each table that pages read, and progress is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from jpweb.store import exports, journal
from jpweb.store.choices import Act, Role, RunState, SuspectedSecretState
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    JournalEntry,
    LedgerEntry,
    Membership,
    Passage,
    Person,
    Run,
    SuspectedSecret,
    Turn,
    Workspace,
)
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import reviews, subjects
from jpweb.store.suspected_secrets import scanner, suggestions
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_inquiry, raw
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import index_all, scan_all
from tests.store.reviews import desk

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "AKIACANARYCANARY7F3A"
OTHER = f"ghp_{'a1B2' * 9}"


def scan_and_index() -> int:
    steps = scan_all()
    index_all()
    return steps


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada")


@pytest.fixture
def conversation(workspace: Workspace) -> Conversation:
    """Return a conversation without a run, with the secret in each kind of event."""
    conversation: Conversation = making.mirrored_conversation(
        workspace,
        ChatRequest(f"Log in with {SECRET}, please"),
        ToolCallRequest("c", "vault", {"path": f"a {SECRET} b", "list": [SECRET]}),
        make_inquiry("c.apply.1", f"Use {SECRET}?"),
        InquiryResponse("c.apply.1", Answered(SECRET)),
        ToolCallResponse("c", f"wrote {SECRET} and {OTHER}", False),
    )
    conversation.title = f"Log in with {SECRET}"
    conversation.save()
    return conversation


def dump_copies(conversation: Conversation) -> str:
    """Return what other tables than the journal hold of a conversation."""
    models: list[Any] = [Inquiry, Turn, Passage, Approval, SuspectedSecret]
    rows = [
        repr(row)
        for model in models
        for row in model.objects.filter(conversation=conversation).values()
    ]
    return "\n".join([Conversation.objects.get(pk=conversation.pk).title, *rows])


def test_scan_masks_every_copy_and_leaves_the_journal(conversation: Conversation):
    before = journal.read_elements(conversation.pk)
    assert SECRET in dump_copies(conversation)
    scan_and_index()
    assert SuspectedSecret.objects.count() == 7
    assert SECRET not in dump_copies(conversation)
    assert OTHER not in dump_copies(conversation)
    assert "[masked AWS Access Key, " in str(Inquiry.objects.get().answer)
    assert journal.read_elements(conversation.pk) == before


def test_exports_and_index_have_the_marker_instead(conversation: Conversation):
    scan_and_index()
    conversation.refresh_from_db()
    for export in (exports.export_jp_json, exports.export_json_lines):
        text = b"".join(chunk.data for chunk in export(conversation)).decode()
        assert not has_secret(text, SECRET)
        assert not has_secret(text, OTHER)
        assert "[masked AWS Access Key, " in text
    assert Passage.objects.filter(body__contains="[masked AWS Access Key, ").count() >= 5


def test_scan_continues_where_it_stopped(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scanner, "BATCH_ENTRIES", 2)
    assert scanner.scan_next() is not None
    conversation.refresh_from_db()
    assert conversation.scanned_entry_count == 2
    searched: list[int] = []
    search_entry = scanner._search_entry

    def note_search(entry: Any) -> Any:
        searched.append(entry.position)
        return search_entry(entry)

    monkeypatch.setattr(scanner, "_search_entry", note_search)
    scan_and_index()
    assert searched == [2, 3, 4]
    assert scanner.scan_next() is None


def test_running_turn_keeps_its_answer_until_it_ends(workspace: Workspace):
    run = making.start_run(making.conversation(workspace))
    question = making.settle(making.question(run, text=f"Is it {SECRET}?"), Answered(SECRET))
    scan_and_index()
    question.refresh_from_db()
    assert question.answer == SECRET  # its tool call reads the row
    assert SECRET not in str(question.question)
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
    scan_and_index()
    question.refresh_from_db()
    assert "[masked " in question.answer


def test_dismissal_restores_every_copy(conversation: Conversation, ada: Person):
    before = dump_copies(conversation)
    index_all()
    scan_and_index()
    row = SuspectedSecret.objects.filter(kind="AWS Access Key").earliest("id")
    assert suggestions.dismiss(row, ada, "an example") == 6
    scan_and_index()
    conversation.refresh_from_db()
    question = Inquiry.objects.get()
    assert conversation.title == f"Log in with {SECRET}"
    assert Turn.objects.get(number=0).title == f"Log in with {SECRET}, please"
    assert (question.answer, question.question["text"]) == (SECRET, f"Use {SECRET}?")
    assert "[masked AWS" not in dump_copies(conversation)
    assert "[masked GitHub" in dump_copies(conversation)
    assert before
    entry = LedgerEntry.objects.get(act=Act.SUSPICION_DISMISSED)
    assert SECRET not in entry.text
    assert json.loads(entry.text)["details"]["note"] == "an example"


def test_dismissed_text_is_not_suggested_again(
    workspace: Workspace, conversation: Conversation, ada: Person
):
    scan_and_index()
    suggestions.dismiss(SuspectedSecret.objects.filter(kind="AWS Access Key")[0], ada, "no")
    making.mirrored_conversation(workspace, ChatRequest(f"again {SECRET}"))
    scan_and_index()
    states = SuspectedSecret.objects.filter(kind="AWS Access Key").values_list("state", flat=True)
    assert set(states) == {SuspectedSecretState.DISMISSED}


def test_reveal_returns_the_secret_and_writes_an_entry(conversation: Conversation, ada: Person):
    scan_and_index()
    row = SuspectedSecret.objects.get(kind="GitHub Token")
    context = suggestions.reveal(row, ada)
    assert context.secret == OTHER
    assert SECRET not in context.before
    entry = LedgerEntry.objects.get(act=Act.TEXT_REVEALED)
    assert entry.person_id == ada.pk
    assert OTHER not in entry.text


def test_redaction_of_one_text_keeps_the_masks_of_the_others(workspace: Workspace, ada: Person):
    conversation = making.mirrored_conversation(
        workspace, make_inquiry("c.apply.1", f"pw9 for {SECRET} and {SECRET}, {OTHER}?")
    )
    scan_and_index()
    row = SuspectedSecret.objects.get(digest=scanner.compute_digest(OTHER))
    application.redact(conversation, RedactionRequest(row.anchor, "leaked", ("pw9",)), ada)
    exported = b"".join(chunk.data for chunk in exports.export_jp_json(conversation)).decode()
    assert [text for text in ("pw9", SECRET, OTHER) if has_secret(exported, text)] == []
    assert (SECRET in dump_copies(conversation), OTHER in dump_copies(conversation)) == (
        False,
        False,
    )
    assert suggestions.reveal(suggestions.get_suspected_secret(row.pk), ada).secret == OTHER


def test_secret_that_is_repeated_hides_no_other(workspace: Workspace):
    lines = "\n".join(f"{number} {SECRET}" for number in range(60))
    listed = ToolCallRequest("c", "vault", {"list": [*lines.split("\n"), OTHER]})
    conversation = making.mirrored_conversation(
        workspace, ToolCallResponse("c", f"{lines}\n{OTHER}", False), listed
    )
    scan_and_index()
    exported = b"".join(chunk.data for chunk in exports.export_jp_json(conversation)).decode()
    assert [text for text in (SECRET, OTHER) if has_secret(exported, text)] == []
    digests = set(SuspectedSecret.objects.values_list("digest", flat=True))
    assert digests == {scanner.compute_digest(SECRET), scanner.compute_digest(OTHER)}


def test_redaction_by_marker_replaces_the_secret(conversation: Conversation, ada: Person):
    scan_and_index()
    row = SuspectedSecret.objects.get(kind="GitHub Token")
    application.redact(conversation, RedactionRequest(row.anchor, "leaked", (row.marker,)), ada)
    scan_and_index()
    stored = "".join(
        JournalEntry.objects.filter(conversation=conversation).values_list("text", flat=True)
    )
    assert has_secret(stored, SECRET)
    assert not has_secret(stored, OTHER)
    assert SuspectedSecret.objects.get(kind="GitHub Token").state == SuspectedSecretState.REDACTED
    # The other one of the same event stands elsewhere now, and stays masked.
    assert SECRET not in dump_copies(conversation)
    events = b"".join(chunk.data for chunk in exports.export_json_lines(Conversation.objects.get()))
    assert not has_secret(events.decode(), SECRET)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"type": "novel\\u0000", "x": ["{SECRET}"]}}',
        f'{{"type": "chat_request", "content": ["{SECRET}"]}}',
        f'{{"{SECRET}',
        f'{{"type": "novel", "x": {"[" * 3000}"{SECRET}"{"]" * 3000}}}',
    ],
    ids=["unknown", "broken", "no-json", "nested"],
)
def test_hostile_event_is_masked_and_does_not_stall_the_scan(workspace: Workspace, text: str):
    making.mirrored_conversation(workspace, raw(text), ChatRequest(f"Log in with {OTHER}"))
    scan_and_index()
    export = b"".join(
        chunk.data for chunk in exports.export_json_lines(Conversation.objects.get())
    ).decode()
    assert not has_secret(export, OTHER)
    assert not has_secret(export, SECRET)


def test_title_that_ends_within_a_secret_is_masked(conversation: Conversation):
    Conversation.objects.filter(pk=conversation.pk).update(title=f"Log in with {SECRET[:9]}…")
    scan_and_index()
    conversation.refresh_from_db()
    assert conversation.title.startswith("Log in with [masked AWS Access Key, ")


def test_title_that_ends_as_a_secret_begins_stays_where_none_is_cut(conversation: Conversation):
    title = f"Log in with {SECRET[:6]}"
    Conversation.objects.update(title=title)
    scan_and_index()
    assert Conversation.objects.get().title == title


@pytest.mark.parametrize("length", [9, 19])
@pytest.mark.parametrize("begin", ["Log in with ", f"{'word ' * 9}with "], ids=["short", "long"])
def test_dismissal_restores_a_title_that_ends_within_a_secret(
    conversation: Conversation, ada: Person, begin: str, length: int
):
    title = f"{begin}{SECRET[:length]}…"
    Conversation.objects.update(title=title)
    scan_and_index()
    assert SECRET[:length] not in Conversation.objects.get().title
    scan_and_index()
    suggestions.dismiss(SuspectedSecret.objects.filter(kind="AWS Access Key")[0], ada, "no")
    assert Conversation.objects.get().title == title


def test_mirrored_file_that_grows_is_searched_from_its_new_end(workspace: Workspace):
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    scan_and_index()
    run = making.start_run(making.conversation(workspace))
    journal.append_events(
        run.conversation_id, [making.event(ChatResponse("message", f"it is {SECRET}"))], run
    )
    scan_and_index()
    assert SuspectedSecret.objects.get().conversation_id == run.conversation_id
    assert not SuspectedSecret.objects.filter(conversation=conversation).exists()


def test_search_of_a_new_revision_leaves_masked_events_in_the_index(conversation: Conversation):
    scan_and_index()
    passages = set(Passage.objects.values_list("position", "part", "body"))
    assert Passage.TITLE_POSITION in {position for position, *_ in passages}
    Conversation.objects.update(revision=F("revision") + 1, needs_indexing=True)
    index_all()
    scan_and_index()
    assert set(Passage.objects.values_list("position", "part", "body")) == passages
    assert not Conversation.objects.get().needs_indexing


def test_search_of_a_new_revision_masks_its_new_title(conversation: Conversation):
    scan_and_index()
    Conversation.objects.update(
        revision=F("revision") + 1, title=f"Use {SECRET}", needs_indexing=True
    )
    index_all()
    assert SECRET in dump_copies(conversation)
    step = scanner.scan_next()
    assert step is not None
    assert step.has_masked
    assert SECRET not in dump_copies(conversation)
    assert Conversation.objects.get().needs_indexing
    scan_and_index()
    assert Passage.objects.get(position=Passage.TITLE_POSITION).body.startswith("Use [masked ")


def test_masking_and_dismissal_leave_a_conversation_reviewed(
    workspace: Workspace, ada: Person, conversation: Conversation
):
    """No event has changed: a review names the hash of the stored texts."""
    workspace.reviews_required = 2
    workspace.save()
    ben = making.person("ben", Role.AUDITOR, workspace)
    Membership.objects.create(
        person=ada, workspace=workspace, role=Role.AUDITOR, direct_role=Role.AUDITOR
    )
    desk.send(subjects.load_conversation(conversation), ada)
    scan_and_index()
    suspicion = SuspectedSecret.objects.filter(conversation=conversation).first()
    assert suspicion is not None
    suggestions.dismiss(suspicion, ada, "")
    conversation.refresh_from_db()
    history = reviews.load_history(subjects.load_conversation(conversation))
    assert not history.is_changed
    assert desk.send(history.subject, ben).round == 2


def test_step_of_the_scan_writes_a_bounded_number_of_rows(workspace: Workspace):
    letters = "ABCDEFGHIJ"
    secrets = [f"AKIACANARY{a}{b}CANARY7F" for a in letters for b in letters[:5]]
    messages = [ChatResponse("message", " ".join(secrets)) for _ in range(10)]
    making.mirrored_conversation(workspace, *messages)
    with CaptureQueriesContext(connection) as queries:
        assert scanner.scan_next() is not None
    assert SuspectedSecret.objects.count() == scanner.BATCH_SUSPICIONS == 4 * len(secrets)
    assert Conversation.objects.get().scanned_entry_count == 4
    assert len(queries) < 40
    scan_all()
    assert SuspectedSecret.objects.count() == 10 * len(secrets)


def test_queries_of_a_dismissal_do_not_grow_with_the_places(workspace: Workspace, ada: Person):
    requests = [ChatRequest(f"Use {SECRET} now, {number}") for number in range(40)]
    conversation = making.mirrored_conversation(workspace, *requests)
    titles = list(Turn.objects.values_list("title", flat=True))
    scan_all()
    row = SuspectedSecret.objects.filter(conversation=conversation)[0]
    with CaptureQueriesContext(connection) as queries:
        assert suggestions.dismiss(row, ada, "a sample") == 40
    assert len(queries) < 40
    assert list(Turn.objects.values_list("title", flat=True)) == titles
