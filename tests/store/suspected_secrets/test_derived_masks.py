"""What is derived from events again keeps the masks of the secrets that were found in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.store import rebuild
from jpweb.store.choices import Origin, SuspectedSecretState, WritePolicy
from jpweb.store.derived_rows.from_stream import StreamRows
from jpweb.store.jp_files import attachments, mirror, row_writer
from jpweb.store.models import Conversation, Inquiry, JournalEntry, SuspectedSecret, Turn, Workspace
from jpweb.store.suspected_secrets import derived_masks, suggestions
from jpweb.stream.answer_type import Option, Select
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result, stream
from tests.store import making
from tests.store.background_passes import scan_all
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "AKIACANARYCANARY7F3A"
NAME = "17000000000-a-talk"
TITLE = f"Log in with {SECRET}"
KINDS: list[EventKind] = [
    TurnStart(),
    ChatRequest(f"Log in with {SECRET}, please"),
    make_call("c"),
    make_inquiry("c.q.1", f"Use {SECRET}?"),
    make_answer("c.q.1", SECRET),
    make_result("c"),
    TurnStart(),
    ChatRequest("Thanks"),
]
MORE = ChatResponse("message", "You are welcome.")


def write_conversation(root: Path, *kinds: EventKind | Any, title: str = TITLE) -> None:
    write_folder(root, NAME, stream(*kinds), title=title)


def dump_rows() -> str:
    """Return what the tables hold that are derived from the journal."""
    return "\n".join(
        [
            *Conversation.objects.values_list("title", flat=True),
            *Turn.objects.values_list("title", flat=True),
            *(repr(row) for row in Inquiry.objects.values()),
        ]
    )


def list_turns() -> list[Any]:
    return list(Turn.objects.order_by("number").values_list("number", "position", "pk"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the root of a workspace whose only conversation was mirrored and searched."""
    write_conversation(tmp_path, *KINDS)
    mirror.mirror_workspace(tmp_path)
    assert dump_rows().count(SECRET) == 4
    scan_all()
    assert SECRET not in dump_rows()
    return tmp_path


def test_mirrored_conversation_that_grows_keeps_its_masks(root: Path):
    before, turns = dump_rows(), list_turns()
    write_conversation(root, *KINDS, MORE)
    mirror.mirror_workspace(root)
    assert dump_rows() == before
    assert list_turns() == turns
    assert JournalEntry.objects.filter(text__contains=SECRET).count() == 3


def test_reason_of_a_decline_keeps_its_mask_while_the_conversation_grows(tmp_path: Path):
    declined = InquiryResponse("c.q.1", Cancelled(CancellationReason.USER))
    note = {"jpweb": {"note": f"Not with {SECRET}" + 300 * "."}}
    kinds = [
        *KINDS[:2],
        make_call("c"),
        make_inquiry("c.q.1"),
        make_element(declined, metadata=note),
    ]
    write_conversation(tmp_path, *kinds)
    mirror.mirror_workspace(tmp_path)
    scan_all()
    masked_note = Inquiry.objects.get().note
    assert masked_note.startswith("Not with [masked")
    assert masked_note.endswith(300 * ".")
    write_conversation(tmp_path, *kinds, MORE)
    mirror.mirror_workspace(tmp_path)
    assert Inquiry.objects.get().note == masked_note


def test_conversation_of_an_unreadable_file_keeps_its_masked_title(root: Path):
    write_folder(root, NAME, b"[{", title=f"{TITLE}!")
    mirror.mirror_workspace(root)
    conversation = Conversation.objects.get()
    assert conversation.problem
    assert conversation.title.startswith("Log in with [masked AWS")
    assert conversation.title.endswith("!")


def test_long_conversation_shows_no_secret_between_its_batches(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    before, shown_rows = dump_rows(), []
    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 2)
    monkeypatch.setattr(
        row_writer, "_pause_between_batches", lambda: shown_rows.append(dump_rows())
    )
    first_elements, later_elements = stream(*KINDS)[:2], stream(*KINDS)[2:]
    write_conversation(root, *first_elements, make_call("d"), *later_elements, MORE)
    mirror.mirror_workspace(root)
    assert Conversation.objects.get().entry_count == len(KINDS) + 2
    assert len(shown_rows) >= 4
    assert not [rows for rows in shown_rows if SECRET in rows]
    assert dump_rows().splitlines()[:3] == before.splitlines()[:3]
    assert SECRET not in dump_rows()


def test_options_of_an_open_question_stay_as_people_choose_from_them(tmp_path: Path):
    question = make_inquiry(
        "c.q.1", f"Use {SECRET}?", type=Select((Option(SECRET), Option("none")))
    )
    write_conversation(tmp_path, KINDS[0], make_call("c"), question)
    mirror.mirror_workspace(tmp_path)
    Inquiry.objects.update(state="open")
    scan_all()
    expected = Inquiry.objects.get().question
    assert SECRET not in expected["text"]
    write_conversation(tmp_path, KINDS[0], make_call("c"), question, make_call("d"))
    mirror.mirror_workspace(tmp_path)
    row = Inquiry.objects.get()
    assert SECRET not in row.question["text"]
    assert (SECRET in str(row.question)) == (row.state == "open")


def test_dismissed_secret_stays_unmasked_while_the_conversation_grows(root: Path):
    row = SuspectedSecret.objects.filter(state=SuspectedSecretState.OPEN)[0]
    suggestions.dismiss(row, making.person("ada"), "an example")
    before = dump_rows()
    write_conversation(root, *KINDS, MORE)
    mirror.mirror_workspace(root)
    assert dump_rows() == before
    assert before.count(SECRET) == 4


@pytest.mark.parametrize("added", [[], [MORE]], ids=["title", "events"])
def test_native_conversation_to_which_jp_appends_keeps_its_masks(
    root: Path, added: list[EventKind]
):
    Conversation.objects.update(origin=Origin.NATIVE)
    attachments.set_write_policy(Workspace.objects.get(), WritePolicy.CURRENT)
    turns = list_turns()
    write_conversation(root, *KINDS, *added, title=f"{TITLE}!")
    _, report = mirror.mirror_workspace(root)
    assert report.problems == []
    conversation = Conversation.objects.get()
    assert conversation.entry_count == len(KINDS) + len(added)
    assert conversation.title.endswith("!")
    assert SECRET not in dump_rows()
    assert list_turns() == turns


def test_rebuild_of_an_older_version_keeps_masked_turns(root: Path):
    before = dump_rows()
    Conversation.objects.update(derived_version=0)
    assert rebuild.rebuild_all(lambda *_: None) == 1
    assert dump_rows() == before


def test_rows_of_a_conversation_without_suspicions_cost_one_query(
    workspace: Workspace, django_assert_num_queries: Any
):
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    stream_rows = StreamRows([("{}", "", "e-1", 0, "")], [(0, "Hello")])
    with django_assert_num_queries(1):
        assert derived_masks.mask_rows(conversation, stream_rows) == (stream_rows, [])
