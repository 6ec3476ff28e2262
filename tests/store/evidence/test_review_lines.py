"""Reviews in a bundle: bound to the ledger, blind ones withheld, imported byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jpweb.evidence import bundle_verifier
from jpweb.evidence.bundle_verifier import EVENTS, MANIFEST, REDACTIONS, REVIEWS
from jpweb.store.choices import ReviewState, Role, Verdict
from jpweb.store.errors import ImportRefused
from jpweb.store.evidence import importer
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Review, ReviewTask
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.store.reviews import reviews, subjects
from tests import bundles
from tests.machine.sizes import mark_proof
from tests.machine.suite.row_copies import RowCopies
from tests.store import making
from tests.store.reviews import desk
from tests.store.reviews.desk import ReviewDesk

pytestmark = pytest.mark.django_db


def make_reviewed() -> tuple[ReviewDesk, bytes]:
    """Return a desk with two reviews of a question and one of the conversation, and its bundle."""
    reviewed = ReviewDesk()
    reviewed.require_two()
    row = reviewed.close()
    desk.send(desk.load(row), reviewed.ada, Verdict.WRONG, "The hose was lent.")
    desk.send(desk.load(row), reviewed.ben, Verdict.FINE)
    conversation = Conversation.objects.get(pk=reviewed.conversation.pk)
    desk.send(
        subjects.load_conversation(conversation), reviewed.ada, Verdict.ESCALATE, "Blind still."
    )
    return reviewed, bundles.make_bundle(reviewed.conversation)


copy_reviewed = RowCopies(make_reviewed)


@pytest.fixture
def reviewed_and_bundle(db: None) -> tuple[ReviewDesk, bytes]:
    return copy_reviewed()


@pytest.fixture
def reviewed(reviewed_and_bundle: tuple[ReviewDesk, bytes]) -> ReviewDesk:
    return reviewed_and_bundle[0]


@pytest.fixture
def bundle(reviewed_and_bundle: tuple[ReviewDesk, bytes], tmp_path: Path) -> Path:
    return bundles.write_file(reviewed_and_bundle[1], tmp_path)


def read_reviews(path: Path) -> list[dict[str, Any]]:
    files = bundles.read_files(path)
    return [json.loads(line) for line in files[bundles.find_name(files, REVIEWS)].splitlines()]


def test_reviews_are_in_the_bundle_and_it_verifies(bundle: Path):
    first, second, _ = read_reviews(bundle)
    assert (first["reviewer"], first["verdict"], first["note"], first["withheld"]) == (
        "Ada", "wrong", "The hose was lent.", "",
    )  # fmt: skip
    assert (second["reviewer"], second["verdict"], second["round"]) == ("Ben", "fine", 2)
    assert bundles.list_problems(bundle) == []


def test_review_that_waits_for_a_second_is_withheld_and_counted(bundle: Path):
    line = read_reviews(bundle)[2]
    assert (line["event"], line["withheld"]) == ("", "blind")
    assert (line["verdict"], line["note"], line["nonce"]) == ("", "", "")
    assert not any(b"Blind still." in data for data in bundles.read_files(bundle).values())
    manifest = json.loads(bundles.read_files(bundle)[MANIFEST])
    left_out = {row["what"]: row["count"] for row in manifest["left_out"]}
    assert left_out["verdicts and notes of reviews"] == 1


def test_blind_review_of_an_earlier_version_is_in_the_bundle(reviewed: ReviewDesk, tmp_path: Path):
    reviewed.close()
    for person in (reviewed.ben, reviewed.cleo):
        path = bundles.write_bundle(reviewed.conversation, tmp_path)
        assert read_reviews(path)[2]["withheld"] == "blind"
        conversation = Conversation.objects.get()
        desk.send(subjects.load_conversation(conversation), person)
    path = bundles.write_bundle(reviewed.conversation, tmp_path)
    line = read_reviews(path)[2]
    assert (line["reviewer"], line["verdict"], line["note"], line["withheld"]) == (
        "Ada", "escalate", "Blind still.", "",
    )  # fmt: skip
    assert bundles.list_problems(path) == []
    _, again = import_again(path)
    assert read_reviews(again) == read_reviews(path)


def test_withheld_review_stays_withheld_when_two_others_follow(bundle: Path):
    copy, again = import_again(bundle)
    for name in ("dora", "emil"):
        person = making.person(name, Role.AUDITOR, copy.workspace)
        desk.send(subjects.load_conversation(copy), person)
    again.write_bytes(bundles.make_bundle(copy))
    assert read_reviews(again)[2] == read_reviews(bundle)[2]
    assert bundles.list_problems(again) == []


def test_decision_of_an_owner_is_in_the_bundle_and_its_copy(reviewed: ReviewDesk, tmp_path: Path):
    olga = making.person("olga", Role.OWNER, reviewed.workspace)
    subject = desk.load(Inquiry.objects.get())
    desk.send(subject, olga, Verdict.QUESTIONABLE, "Ask Rita.")
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(reviewed.conversation))
    last_line = read_reviews(path)[-1]
    assert (last_line["round"], last_line["verdict"]) == (reviews.DECISION, "questionable")
    assert bundles.list_problems(path) == []
    copy, _ = import_again(path)
    task = ReviewTask.objects.get(conversation=copy, anchor=subject.anchor)
    assert (task.state, task.verdict) == (ReviewState.DONE, Verdict.QUESTIONABLE)


def change_verdict(lines: list[dict[str, Any]]) -> None:
    lines[0]["verdict"] = "fine"


def change_note(lines: list[dict[str, Any]]) -> None:
    lines[0]["note"] += "!"


def move_review(lines: list[dict[str, Any]]) -> None:
    lines[0]["content_hash"] = "0" * 64


def withhold_review(lines: list[dict[str, Any]]) -> None:
    lines[2]["content_hash"] = "0" * 64


def cut_review(lines: list[dict[str, Any]]) -> None:
    lines.pop()


def repeat_review(lines: list[dict[str, Any]]) -> None:
    lines.append(lines[0])


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (change_verdict, "review 1 is not the one of any ledger entry"),
        (withhold_review, "review 3 is not the one of any ledger entry"),
        (cut_review, "it has 2 reviews, not 3"),
        *mark_proof(
            (change_note, "review 1 is not the one of any ledger entry"),
            (move_review, "review 1 is not the one of any ledger entry"),
            (repeat_review, "review 4 is not the one of any ledger entry"),
        ),
    ],
)
def test_change_of_a_review_that_was_signed_again_is_found(
    bundle: Path, edit: Callable[[list[dict[str, Any]]], None], problem: str
):
    files = bundles.read_files(bundle)
    name = bundles.find_name(files, REVIEWS)
    files[name] = bundles.edit_lines(files[name], edit)
    bundles.sign_again(files)
    bundles.write_files(bundle, files)
    assert f"{name}: {problem}" in bundles.list_problems(bundle)


def test_older_bundle_without_reviews_still_verifies(bundle: Path):
    files = bundles.read_files(bundle)
    for name in (REVIEWS, REDACTIONS):
        del files[bundles.find_name(files, name)]
    manifest = json.loads(files[MANIFEST])
    count = manifest["conversations"][0].pop("reviews")
    files[MANIFEST] = json.dumps(manifest).encode()
    bundles.sign_again(files)
    bundles.write_files(bundle, files)
    report = bundle_verifier.verify_bundle(bundle)
    assert report.problems == []
    line = f"Reviews of the ledger that it does not hold, as of an earlier jpweb: {count}."
    assert line in bundle_verifier.describe_bundle(report)


def import_again(path: Path) -> tuple[Conversation, Path]:
    """Return the imported conversation, and its own bundle."""
    target = making.workspace("Target")
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    copy = Conversation.objects.get(pk=key)
    again = path.with_name("again.zip")
    again.write_bytes(bundles.make_bundle(copy))
    return copy, again


def test_reviews_survive_import_and_export_byte_for_byte(bundle: Path):
    _, again = import_again(bundle)
    files, files_again = bundles.read_files(bundle), bundles.read_files(again)
    for end in (REVIEWS, EVENTS):
        assert (
            files[bundles.find_name(files, end)] == files_again[bundles.find_name(files_again, end)]
        )
    assert bundles.list_problems(again) == []


def test_imported_review_that_was_changed_contradicts_the_ledger(bundle: Path):
    copy, again = import_again(bundle)
    Review.objects.filter(conversation=copy, round=1).update(note="Rewritten")
    again.write_bytes(bundles.make_bundle(copy))
    assert any("reviews that were imported" in line for line in bundles.list_problems(again))


def test_imported_reviews_have_their_state(bundle: Path, reviewed: ReviewDesk):
    copy, _ = import_again(bundle)
    (task,) = ReviewTask.objects.filter(conversation=copy)
    inquiry = Inquiry.objects.get(conversation=copy)
    assert (task.anchor, task.state) == (inquiry.anchor, ReviewState.DISAGREED)


def test_review_of_an_imported_conversation_joins_the_imported_ones(bundle: Path):
    copy, again = import_again(bundle)
    dora = making.person("dora", Role.AUDITOR, copy.workspace)
    desk.send(subjects.load_conversation(copy), dora, Verdict.FINE)
    again.write_bytes(bundles.make_bundle(copy))
    assert [line["reviewer"] for line in read_reviews(again)] == ["Ada", "Ben", "Ada", "Dora"]
    assert bundles.list_problems(again) == []


def test_withheld_review_stays_hidden_when_another_completes_it(bundle: Path):
    copy, _ = import_again(bundle)
    dora = making.person("dora", Role.AUDITOR, copy.workspace)
    subject = subjects.load_conversation(copy)
    desk.send(subject, dora, Verdict.FINE)
    shown_reviews = reviews.load_history(subject).list_shown(dora.pk)
    assert [(row.review.reviewer_name, row.is_hidden) for row in shown_reviews] == [
        ("Dora", False),
        ("Ada", True),
    ]
    client = Client()
    client.force_login(dora)
    response = client.get(f"/conversations/{copy.pk}/reviews")
    assert response.status_code == 200
    assert "withheld from the imported bundle" in response.content.decode()


def test_withheld_review_does_not_mark_an_import_as_changed(bundle: Path):
    copy, _ = import_again(bundle)
    history = reviews.load_history(subjects.load_conversation(copy))
    assert len(history.rows) == 1
    assert not history.is_changed


def set_verdict(line: dict[str, Any]) -> None:
    line["verdict"] = "splendid"


def set_nul(line: dict[str, Any]) -> None:
    line["note"] = "\x00"


def set_local_time(line: dict[str, Any]) -> None:
    line["reviewed_at"] = "2026-11-01T12:00:00"


@pytest.mark.parametrize("edit", [set_nul, set_verdict, *mark_proof(set_local_time)])
def test_hostile_review_is_refused(bundle: Path, monkeypatch: pytest.MonkeyPatch, edit: Any):
    files = bundles.read_files(bundle)
    name = bundles.find_name(files, REVIEWS)
    files[name] = bundles.edit_lines(files[name], lambda lines: edit(lines[0]))
    bundles.sign_again(files)
    bundles.write_files(bundle, files)
    # As from an installation that signs what is wrong.
    monkeypatch.setattr(bundle_verifier, "check_reviews", lambda *_: iter(()))
    with pytest.raises(ImportRefused, match=r"reviews.jsonl cannot be used"):
        importer.import_bundle(bundle, making.workspace("Target").name)


def redact(reviewed: ReviewDesk, string: str) -> None:
    entry = JournalEntry.objects.filter(
        conversation=reviewed.conversation, text__contains=string
    ).earliest("position")
    request = RedactionRequest(entry.anchor, "leaked", (string,))
    reviewed.run.refresh_from_db()
    reviewed.run.state = "done"
    reviewed.run.save()
    application.redact(reviewed.conversation, request, reviewed.ada)


def test_redaction_replaces_the_note_of_a_review_and_withholds_its_proof(tmp_path: Path):
    reviewed = ReviewDesk()
    row = reviewed.close()
    desk.send(desk.load(row), reviewed.ada, Verdict.WRONG, "It says Go on? twice.")
    redact(reviewed, "Go on?")
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(reviewed.conversation))
    (line,) = read_reviews(path)
    assert (line["withheld"], line["nonce"], line["verdict"]) == ("redacted", "", "wrong")
    assert "Go on?" not in line["note"]
    assert bundles.list_problems(path) == []


def test_bundle_with_a_long_note_that_was_redacted_is_imported(tmp_path: Path):
    reviewed = ReviewDesk()
    row = reviewed.close()
    desk.send(desk.load(row), reviewed.ada, Verdict.WRONG, "Go on? " * 500)
    redact(reviewed, "Go on?")
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(reviewed.conversation))
    copy, again = import_again(path)
    assert len(copy.reviews.get().note) == reviews.MAX_NOTE_CHARS
    assert read_reviews(again) == read_reviews(path)


def change_event(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        line["text"] = line["text"].replace("[redacted by Ada", "[redacted by Eve")


def test_changed_text_of_a_redacted_event_contradicts_the_ledger(tmp_path: Path):
    reviewed = ReviewDesk()
    reviewed.close()
    redact(reviewed, "Go on?")
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(reviewed.conversation))
    assert bundles.list_problems(path) == []
    files = bundles.read_files(path)
    name = bundles.find_name(files, EVENTS)
    files[name] = bundles.edit_lines(files[name], change_event)
    bundles.sign_again(files)
    bundles.write_files(path, files)
    (problem,) = bundles.list_problems(path)
    assert "redacted" in problem
    assert problem.startswith(name)
