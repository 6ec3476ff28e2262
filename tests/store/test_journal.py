from __future__ import annotations

import pytest

from jpweb.store import inquiries, journal, runs
from jpweb.store.choices import Role, RunState
from jpweb.store.errors import (
    AlreadyRunning,
    AlreadySettled,
    LeaseLost,
    ReadOnlyConversation,
    UnknownAnchor,
    UnknownConversation,
    UnknownInquiry,
)
from jpweb.store.inbox import closed_inquiries
from jpweb.store.inquiries import Decider
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Person, Run, Workspace
from jpweb.store.sql import compiled_write
from jpweb.stream import anchor_ids
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
    Redacted,
)
from tests.builders import make_answer, make_inquiry
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, workspace)


@pytest.fixture
def conversation(workspace: Workspace, ada: Person) -> Conversation:
    conversation: Conversation = making.conversation(workspace, "A talk", ada)
    return conversation


@pytest.fixture
def run(conversation: Conversation, ada: Person) -> Run:
    return making.start_run(conversation, ada)


def positions(conversation: Conversation) -> list[int]:
    return list(conversation.journal.order_by("pk").values_list("position", flat=True))


def test_append_events_keeps_the_order_of_events(conversation: Conversation, run: Run):
    for word in ("one", "two"):
        kinds = (ChatResponse("message", word), ChatResponse("reasoning", word))
        journal.append_events(conversation.pk, [making.event(kind) for kind in kinds])
    elements = journal.read_elements(conversation.pk)
    texts = [(e.kind.variant, e.kind.content) for e in elements if isinstance(e.kind, ChatResponse)]
    assert texts == [(v, w) for w in ("one", "two") for v in ("message", "reasoning")]
    assert positions(conversation) == list(range(7))
    conversation.refresh_from_db()
    assert (conversation.entry_count, conversation.turns) == (7, 1)
    assert conversation.last_activity.isoformat() == "2026-01-02T03:04:05+00:00"


def test_equal_events_have_anchors_of_their_own(conversation: Conversation):
    same_events = [making.event(ChatResponse("message", "Same")) for _ in range(3)]
    journal.append_events(conversation.pk, same_events[:2])
    journal.append_events(conversation.pk, same_events[2:])
    anchors = list(conversation.journal.order_by("position").values_list("anchor", flat=True))
    assert len(set(anchors)) == 3
    assert anchors == anchor_ids.make_anchors(journal.read_elements(conversation.pk))
    assert [journal.find_element(conversation.pk, anchor)[0] for anchor in anchors] == [0, 1, 2]


def test_an_anchor_that_is_not_there_is_unknown(conversation: Conversation, run: Run):
    other_conversation = making.conversation(conversation.workspace, "Other")
    anchor = conversation.journal.earliest("pk").anchor
    for key, name in ((conversation.pk, "e-none"), (other_conversation.pk, anchor)):
        with pytest.raises(UnknownAnchor):
            journal.find_element(key, name)


def test_append_with_an_invalid_event_appends_none(conversation: Conversation, run: Run):
    before = positions(conversation)
    with pytest.raises(UnknownInquiry):
        journal.append_events(
            conversation.pk,
            [making.event(TurnStart()), making.event(make_answer("nobody.asked.1"))],
        )
    assert positions(conversation) == before
    conversation.refresh_from_db()
    assert (conversation.entry_count, conversation.turns) == (3, 1)


def test_append_events_refuses_deleted_and_mirrored_conversations(conversation: Conversation):
    with pytest.raises(UnknownConversation):
        journal.append_events(10**9, [making.event(TurnStart())])
    Conversation.objects.update(origin="mirrored")
    with pytest.raises(ReadOnlyConversation):
        journal.append_events(conversation.pk, [making.event(TurnStart())])
    assert positions(conversation) == []


def test_a_request_opens_a_row(conversation: Conversation, run: Run):
    row = making.question(run, text="Go on?")
    assert (row.state, row.run, row.position) == ("open", run, 3)
    assert row.question == {"text": "Go on?", "answer_type": {"type": "boolean"}}
    assert (row.source, row.asker, row.answer_type) == ("tool", "fs_modify_file", "boolean")
    assert (row.answer, row.settled_at, row.decided_by) == (None, None, "")
    assert journal.find_element(conversation.pk, row.anchor)[0] == row.position
    assert inquiries.get_waiting_seconds(row) is None


@pytest.mark.parametrize(
    ("outcome", "state", "reason", "answer"),
    [
        (Answered({"deep": [1]}), "answered", "", {"deep": [1]}),
        (Answered(None), "answered", "", None),
        (Cancelled(CancellationReason.USER), "cancelled", "user", None),
        (Redacted(), "redacted", "", None),
    ],
)
def test_response_settles_its_question(
    run: Run, ada: Person, outcome: InquiryOutcome, state: str, reason: str, answer: object
):
    row = making.settle(making.question(run, Secret()), outcome, making.decider(ada))
    assert (row.state, row.reason, row.answer) == (state, reason, answer)
    assert (row.decided_by, row.decider, row.decider_name) == ("person", ada, "Ada")
    assert row.response_position == 4
    assert inquiries.get_waiting_seconds(row) == 0


@pytest.mark.parametrize("kind", ["configuration", "memory", "assistant", "system"])
def test_decider_that_is_no_person_has_no_person_and_no_name(run: Run, kind: str):
    row = making.settle(making.question(run), Answered(True), Decider(kind))
    assert (row.decided_by, row.decider, row.decider_name) == (kind, None, "")


def test_second_response_to_a_question_is_refused_and_not_recorded(
    conversation: Conversation, run: Run, ada: Person
):
    row = making.settle(making.question(run), Answered(True), making.decider(ada))
    length, rows_before = making.count_entries(conversation.pk), list(Inquiry.objects.values())
    with pytest.raises(AlreadySettled) as error:
        making.settle(row, Cancelled(CancellationReason.USER))
    assert error.value.inquiry.decider_name == "Ada"
    assert "already settled" in str(error.value)
    assert (making.count_entries(conversation.pk), list(Inquiry.objects.values())) == (
        length,
        rows_before,
    )


def test_the_same_id_asked_again_is_settled_in_order(conversation: Conversation, run: Run):
    for _ in range(2):
        journal.append_events(conversation.pk, [making.event(make_inquiry("c.q.1"))], run)
    assert inquiries.find_by_inquiry_id(conversation.pk, "c.q.1").position == 4
    for value in (True, False):
        journal.append_events(conversation.pk, [making.event(make_answer("c.q.1", value))])
    rows = Inquiry.objects.order_by("position").values_list("position", "answer", "state")
    assert list(rows) == [(3, True, "answered"), (4, False, "answered")]


def test_hostile_text_is_kept_and_found(conversation: Conversation, run: Run):
    journal.append_events(
        conversation.pk, [making.event(make_inquiry("c\x00.q.1", "Go\x00?"))], run
    )
    row = inquiries.find_by_inquiry_id(conversation.pk, "c\x00.q.1")
    assert "\x00" not in row.inquiry_id + row.question["text"]
    journal.append_events(
        conversation.pk, [making.event(InquiryResponse("c\x00.q.1", Answered({"\x00": 1})))]
    )
    assert inquiries.get_inquiry(row.pk).state == "answered"
    assert journal.read_elements(conversation.pk)[3].kind == make_inquiry("c\x00.q.1", "Go\x00?")


def test_missing_rows_raise_unknown_errors(conversation: Conversation):
    with pytest.raises(UnknownInquiry):
        inquiries.get_inquiry(10**9)
    with pytest.raises(UnknownInquiry):
        inquiries.find_by_inquiry_id(conversation.pk, "c.q.1")


def test_list_open_returns_open_questions_to_people_who_may_answer(
    workspace: Workspace, run: Run, ada: Person
):
    first, second = making.question(run), making.question(run)
    making.settle(making.question(run), Answered(True))
    assert list(inquiries.list_open(ada.pk)) == [first, second]
    reader = making.person("reader", Role.READER, workspace)
    for person in (reader, making.person("outsider")):
        assert not inquiries.list_open(person.pk).exists()
    Run.objects.update(state="done")
    assert not inquiries.list_open(ada.pk).exists()


def test_closed_inquiries_are_listed_by_decider_or_as_undecided(run: Run, ada: Person):
    own_inquiry = making.settle(making.question(run), Answered(True), making.decider(ada))
    lost_row = making.settle(making.question(run), Cancelled(CancellationReason.LOST))
    making.settle(making.question(run), Cancelled(CancellationReason.USER), Decider("system"))
    assert closed_inquiries.list_decided_by(ada.pk) == [own_inquiry]
    assert closed_inquiries.list_undecided(ada.pk) == [lost_row]
    assert closed_inquiries.list_undecided(ada.pk, limit=0) == []


def test_conversation_has_one_run_at_a_time(conversation: Conversation, run: Run, ada: Person):
    with pytest.raises(AlreadyRunning):
        runs.start_run(conversation.pk, ada.pk, "scripted")
    assert Run.objects.count() == 1
    assert runs.end_run(run, RunState.DONE) is True
    with pytest.raises(LeaseLost):
        runs.end_run(run, RunState.FAILED)
    second = runs.start_run(conversation.pk, ada.pk, "scripted")
    assert runs.get_newest(conversation.pk) == second


def test_a_mirrored_conversation_is_not_run(conversation: Conversation, ada: Person):
    Conversation.objects.update(origin="mirrored")
    with pytest.raises(ReadOnlyConversation):
        runs.start_run(conversation.pk, ada.pk, "scripted")


def test_lost_run_leaves_no_open_question(run: Run):
    rows = [making.question(run), making.question(run)]
    runs.lose_run(run, "It could not go on.")
    for row in rows:
        row.refresh_from_db()
        assert (row.state, row.reason, row.decided_by) == ("cancelled", "lost", "system")


def test_a_run_without_a_turn_is_lost(conversation: Conversation, ada: Person):
    run = runs.start_run(conversation.pk, ada.pk, "scripted")
    runs.lose_run(run, "Nobody knows why.")
    run.refresh_from_db()
    assert (run.state, run.problem) == ("lost", "Nobody knows why.")
    assert making.count_entries(conversation.pk) == 0


def test_start_run_records_the_run_and_its_turn_atomically(
    conversation: Conversation, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    opening = [making.event(TurnStart()), making.event(ChatRequest("Hello"))]

    def refuse(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(compiled_write, "update_rows", refuse)
    with pytest.raises(OSError, match="disk full"):
        runs.start_run(conversation.pk, ada.pk, "scripted", "", opening)
    assert not Run.objects.exists()
    monkeypatch.undo()
    runs.start_run(conversation.pk, ada.pk, "scripted", "", opening)
    assert [e.kind for e in journal.read_elements(conversation.pk)] == [
        TurnStart(),
        ChatRequest("Hello"),
    ]


def test_rows_are_named_for_people(
    workspace: Workspace, conversation: Conversation, run: Run, ada: Person
):
    row = making.question(run)
    entry = JournalEntry.objects.earliest("pk")
    membership = ada.memberships.get()
    names = [str(record) for record in (workspace, conversation, run, row, entry, membership)]
    assert names[:2] == ["Garden", "A talk"]
    assert names[3:] == [
        f"{row.inquiry_id}: open",
        f"{conversation.pk}#0 turn_start",
        "ada in Garden: responder",
    ]
    assert str(Conversation(jp_id=5)) == "jp-c5"
