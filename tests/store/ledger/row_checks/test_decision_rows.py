"""Rows of decisions that were changed beside the ledger are named, with the entry and the row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.evidence.ledger_verifier import encode_canonical, hash_text, parse_object
from jpweb.store import approvals
from jpweb.store.choices import Act, Origin, RunState, Verdict
from jpweb.store.evidence import importer
from jpweb.store.ledger import sealing, verification
from jpweb.store.ledger.row_checks import decision_rows
from jpweb.store.ledger.row_checks.decision_rows import DecisionComparison
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    LedgerEntry,
    Person,
    Review,
    Run,
)
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import subjects
from tests import bundles
from tests.machine.suite.row_copies import RowCopies
from tests.store import making
from tests.store.reviews.desk import DECLINED, ReviewDesk, load, send

NOTE = "He leaked hunter2-pass there."


def make_desk() -> ReviewDesk:
    """Return a desk with an answered and a declined question, an approval and two reviews."""
    desk = ReviewDesk()
    question = desk.close()
    desk.close(DECLINED)
    approval = making.prompt(desk.run)
    decision = {"allow": True, "remember": False}
    approvals.decide_approval(approval.pk, decision, making.decider(desk.rita))
    approvals.withdraw_approval(making.prompt(desk.run).pk)
    send(load(question), desk.ada, Verdict.WRONG, NOTE)
    subject = subjects.load_conversation(Conversation.objects.get(pk=desk.conversation.pk))
    send(subject, desk.ben)
    return desk


copy_desk = RowCopies(make_desk)


@pytest.fixture
def desk(db: None) -> ReviewDesk:
    return copy_desk()


def list_problems() -> list[str]:
    sealing.seal_entries()
    return list(map(str, verification.find_problems()))


def get_sequence(act: Act, index: int = 0) -> int:
    rows = LedgerEntry.objects.filter(act=act, sequence__isnull=False).order_by("sequence")
    return rows[index].sequence or 0


def test_rows_as_jpweb_wrote_them_are_no_problem(desk: ReviewDesk):
    assert list_problems() == []


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"decider_name": "Eve"}, "decider"),
        ({"decider_id": None}, "decider"),
        ({"decided_by": "configuration"}, "decider"),
        ({"state": "cancelled", "reason": "user"}, "outcome, reason"),
        ({"state": "open"}, "outcome"),
        ({"channel": "link"}, "channel"),
        ({"asked_at": "2020-01-01T00:00:00Z"}, "time of asking"),
    ],
    ids=["name", "key", "kind", "outcome", "open", "channel", "time"],
)
def test_changed_row_of_a_question_is_named(desk: ReviewDesk, columns: dict[str, Any], parts: str):
    row = Inquiry.objects.filter(state="answered").get()
    Inquiry.objects.filter(pk=row.pk).update(**columns)
    (problem,) = list_problems()
    entry = f"entry {get_sequence(Act.INQUIRY_ANSWERED)}"
    assert problem == f"{entry}: the row of question {row.pk} differs from it: {parts}"


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"decider_name": "Eve"}, "decider"),
        ({"state": "withdrawn"}, "state"),
        ({"decision": {"allow": False, "remember": False}}, "decision"),
        ({"decision": None}, "decision"),
        ({"tool_name": "harmless"}, "tool"),
        ({"kind": "deliver"}, "kind"),
        ({"digest": ""}, "digest"),
    ],
    ids=["name", "state", "flag", "no decision", "tool", "kind", "digest"],
)
def test_changed_row_of_an_approval_is_named(desk: ReviewDesk, columns: dict[str, Any], parts: str):
    row = Approval.objects.filter(state="decided").get()
    Approval.objects.filter(pk=row.pk).update(**columns)
    (problem,) = list_problems()
    entry = f"entry {get_sequence(Act.APPROVAL_DECIDED)}"
    assert problem == f"{entry}: the row of approval {row.pk} differs from it: {parts}"


def test_approval_of_nobody_that_names_a_decider_is_named(desk: ReviewDesk):
    Approval.objects.filter(state="withdrawn").update(decider_name="Eve")
    (problem,) = list_problems()
    assert problem.endswith("differs from it: decider")


@pytest.mark.parametrize("model", [Inquiry, Approval])
def test_deleted_rows_are_named(desk: ReviewDesk, model: Any):
    keys = [row.pk for row in model.objects.order_by("pk")]
    model.objects.all().delete()
    name = "question" if model is Inquiry else "approval"
    endings = [problem.partition(": ")[2] for problem in list_problems()]
    assert endings == [f"the row of {name} {key} is gone" for key in keys]


def change_review(**columns: Any) -> Callable[[], int]:
    return lambda: Review.objects.exclude(anchor="").update(**columns)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            change_review(verdict="fine", note="all good", reviewer_name="Zed"),
            "was changed: its verdict or note differs",
        ),
        (change_review(note="all good", nonce=""), "was changed: its verdict or note differs"),
        (
            change_review(note="[redacted by Ada: x]", nonce=""),
            "was changed: its verdict or note differs",
        ),
        (change_review(reviewer_name="Zed"), "differs from it: reviewer"),
        (change_review(reviewer_id=None), "differs from it: reviewer"),
        (change_review(anchor=""), "differs from it: subject"),
        (change_review(anchor="e-other"), "differs from it: subject"),
        (change_review(content_hash="0" * 64), "differs from it: content, version"),
        (change_review(version="other"), "differs from it: version"),
        (change_review(round=2), "differs from it: round"),
    ],
    ids=[
        "all", "no nonce", "false redaction", "name", "key", "conversation", "other question",
        "content", "version", "round",
    ],
)  # fmt: skip
def test_changed_review_is_named(desk: ReviewDesk, change: Callable[[], int], problem: str):
    key = Review.objects.exclude(anchor="").get().pk
    change()
    (line,) = list_problems()
    assert line.startswith(f"entry {get_sequence(Act.REVIEWED)}: the row of review {key} ")
    assert line.endswith(problem)


def test_deleted_reviews_are_named(desk: ReviewDesk):
    Review.objects.all().delete()
    text = "the row of its review is gone, or has other content"
    assert list_problems() == [f"entry {get_sequence(Act.REVIEWED, n)}: {text}" for n in (0, 1)]


def test_inserted_review_is_named(desk: ReviewDesk):
    row = Review.objects.filter(anchor="").get()
    row.pk, row.revision = None, 2
    row.save(force_insert=True)
    assert list_problems() == [f"review {row.pk}: no entry of the ledger has it: it was inserted"]


def test_redacted_note_of_a_review_is_no_problem_of_its_reviewer(desk: ReviewDesk):
    question = making.question(desk.run, text="Is hunter2-pass right?")
    row = making.settle(question, making.ANSWER, making.decider(desk.rita))
    review = send(load(row), desk.ada, Verdict.WRONG, NOTE)
    Run.objects.update(state=RunState.DONE)
    request = RedactionRequest(row.anchor, "a leak", ("hunter2-pass",), is_conversation_wide=True)
    application.redact(desk.conversation, request, desk.cleo)
    assert "[redacted by" in Review.objects.get(pk=review.pk).note
    assert list_problems() == []
    Review.objects.filter(pk=review.pk).update(reviewer_name="Zed")
    (problem,) = list_problems()
    assert problem.endswith(f"the row of review {review.pk} differs from it: reviewer")


def test_ended_account_is_no_problem_of_its_decisions(desk: ReviewDesk):
    sealing.seal_entries()
    Person.objects.filter(pk__in=(desk.rita.pk, desk.ada.pk)).delete()
    assert list_problems() == []


def test_question_that_jp_rewrote_is_no_problem(desk: ReviewDesk):
    Conversation.objects.update(origin=Origin.MIRRORED)
    Inquiry.objects.filter(state="answered").delete()
    assert list_problems() == []


def test_conversation_that_is_gone_is_named_once(desk: ReviewDesk):
    key = desk.conversation.pk
    Conversation.objects.all().delete()
    (problem,) = list_problems()
    entry = f"entry {get_sequence(Act.INQUIRY_ANSWERED)}"
    assert problem == f"{entry}: its conversation {key} is gone"


def test_reviews_that_were_imported_are_no_problem(desk: ReviewDesk, tmp_path: Path):
    path = bundles.write_bundle(desk.conversation, tmp_path)
    imported = importer.import_bundle(path, making.workspace("Target").name)
    (key,) = imported.conversation_ids
    assert Review.objects.filter(conversation=key).count() == 2
    assert list_problems() == []


@pytest.mark.parametrize(
    "content",
    [
        {"subject": f"inquiry:{10**30}", "conversation": 10**30},
        {"by": [], "details": 5, "subject": 5, "conversation": "1"},
        {"by": {"id": [], "name": 5}, "details": {"round": [], "asked_at": 5, "channel": None}},
    ],
    ids=["huge keys", "other types", "other types in parts"],
)
@pytest.mark.parametrize("act", [Act.REVIEWED, Act.INQUIRY_ANSWERED, Act.APPROVAL_DECIDED])
def test_entry_whose_parts_are_of_other_types_is_named(
    desk: ReviewDesk, act: Act, content: dict[str, Any]
):
    sealing.seal_entries()
    row = LedgerEntry.objects.get(sequence=get_sequence(act))
    text = encode_canonical((parse_object(row.text) or {}) | content)
    LedgerEntry.objects.filter(pk=row.pk).update(text=text, text_hash=hash_text(text))
    assert any(line.startswith(f"entry {row.sequence}: ") for line in list_problems())


def compare_all() -> int:
    """Compare all entries with their rows; return the number of statements."""
    sealing.seal_entries()
    entries = list(LedgerEntry.objects.order_by("sequence").values_list("sequence", "text"))
    comparison = DecisionComparison()
    with CaptureQueriesContext(connection) as context:
        for sequence, text in entries:
            assert list(comparison.add_entry(sequence or 0, parse_object(text) or {})) == []
        assert list(comparison.find_last_problems()) == []
    return len(context)


def test_more_decisions_in_a_batch_take_no_more_statements(desk: ReviewDesk):
    statement_count = compare_all()
    for _ in range(5):
        send(load(desk.close()), desk.ada)
    assert compare_all() == statement_count


def test_decisions_of_several_batches_are_compared(
    desk: ReviewDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decision_rows, "_BATCH_ENTRIES", 1)
    Inquiry.objects.update(decider_name="Eve")
    assert [line.rpartition(": ")[2] for line in list_problems()] == ["decider", "decider"]
