"""What jp writes in place of what was reviewed is not reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jpweb.store.choices import ReviewState, Role, Verdict
from jpweb.store.jp_files import mirror, row_writer
from jpweb.store.models import Inquiry, Membership, Person
from jpweb.store.reviews import inquiry_pages, queues, reviews
from jpweb.stream.events import Element, EventKind, TurnStart
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.store import making
from tests.store.reviews.desk import load, send

pytestmark = pytest.mark.django_db
NAME = "17000000000-reviewed"
SAME = ReviewState.DONE, Verdict.FINE


def make_stream(*outcomes: EventKind) -> list[Element]:
    return stream(
        TurnStart(), make_call("c"), make_inquiry("c.q.1"), *outcomes, make_result("c"), TurnStart()
    )


ANSWERED, CHANGED = make_stream(make_answer("c.q.1")), make_stream(make_answer("c.q.1", False))


@pytest.fixture
def auditor(db: None) -> Person:
    return making.person("ada")


def read_files(root: Path, elements: Sequence[Element], auditor: Person) -> Inquiry:
    """Write the files as jp does, and read them; return the one question."""
    making.write_folder(root, NAME, elements)
    workspace, _ = mirror.mirror_workspace(root)
    Membership.objects.get_or_create(person=auditor, workspace=workspace, role=Role.AUDITOR)
    return Inquiry.objects.get()


def find_state(row: Inquiry) -> tuple[str, str]:
    """Return the state of the table and the queues, which is that of the question's page."""
    state = inquiry_pages.load_review_states([row.pk]).get(row.pk)
    shown_state = state or (ReviewState.UNREVIEWED, "")
    assert shown_state == reviews.load_history(load(row)).state
    return shown_state


@pytest.mark.parametrize("batch_entries", [2000, 2])
def test_question_that_jp_answers_otherwise_has_to_be_reviewed_again(
    tmp_path: Path, auditor: Person, monkeypatch: pytest.MonkeyPatch, batch_entries: int
):
    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", batch_entries)
    row = read_files(tmp_path, ANSWERED, auditor)
    send(load(row), auditor)
    assert find_state(row) == SAME
    row = read_files(tmp_path, CHANGED, auditor)
    assert (row.answer, find_state(row)) == (False, (ReviewState.UNREVIEWED, ""))
    row = read_files(tmp_path, ANSWERED, auditor)
    assert (row.answer, find_state(row)) == (True, SAME)


def test_reviewed_question_without_an_answer_that_jp_answers_is_unreviewed(
    tmp_path: Path, auditor: Person
):
    row = read_files(tmp_path, make_stream(), auditor)
    send(load(row), auditor)
    row = read_files(tmp_path, ANSWERED, auditor)
    assert (row.state, find_state(row)) == ("answered", (ReviewState.UNREVIEWED, ""))


def test_reviewed_question_beside_which_jp_writes_stays_reviewed(tmp_path: Path, auditor: Person):
    row = read_files(tmp_path, ANSWERED, auditor)
    send(load(row), auditor)
    row = read_files(tmp_path, [*ANSWERED, *stream(TurnStart())], auditor)
    assert find_state(row) == SAME
    row = read_files(tmp_path, ANSWERED[:-1], auditor)
    assert find_state(row) == SAME


def test_escalation_of_a_question_that_jp_changed_waits_for_an_owner(
    tmp_path: Path, auditor: Person
):
    row = read_files(tmp_path, ANSWERED, auditor)
    send(load(row), auditor, Verdict.ESCALATE, "Look.")
    row = read_files(tmp_path, CHANGED, auditor)
    assert find_state(row) == (ReviewState.ESCALATED, "")
    assert len(queues.load_queues(auditor.pk).queues["escalated"].items) == 1
