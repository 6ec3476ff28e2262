"""Reviews of questions that a person's answer for the rest of the turn decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store.choices import Act
from jpweb.store.errors import ReviewRefused
from jpweb.store.inbox import closed_inquiries
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import Inquiry, LedgerEntry
from jpweb.store.reviews import queues, reviews
from tests import bundles
from tests.store import making
from tests.store.reviews.desk import ReviewDesk, load
from tests.web.world import World, signed_in


@pytest.fixture
def desk(world: World) -> ReviewDesk:
    return ReviewDesk()


def remember(desk: ReviewDesk) -> Inquiry:
    return desk.close(by=Decider("memory", "Ada", desk.ada.pk))


def test_person_whose_remembered_answer_decided_gets_no_review(desk: ReviewDesk):
    subject = load(remember(desk))
    with pytest.raises(ReviewRefused, match="Your remembered answer decided this question"):
        reviews.load_history(subject).find_slot(desk.ada.pk)
    assert reviews.load_history(subject).find_slot(desk.ben.pk) == (1, 1)
    remaining_items = queues.load_queues(desk.ada.pk).queues["automatic"].remaining_items
    assert remaining_items == []


def test_record_of_a_remembered_answer_names_the_person(desk: ReviewDesk, tmp_path: Path):
    row = remember(desk)
    entry = LedgerEntry.objects.filter(act=Act.INQUIRY_ANSWERED).latest("pk")
    by = {"id": desk.ada.pk, "kind": "memory", "name": "Ada"}
    assert (json.loads(entry.text)["by"], entry.person_id) == (by, desk.ada.pk)
    client = signed_in(desk.ben)
    text = "remembered answer (Ada)"
    pages = (f"/questions/{row.pk}", "/audit", "/audit/ledger", "/audit/decisions")
    for path in (*pages, f"/conversations/{desk.conversation.pk}"):
        assert text in client.get(path).content.decode(), path
    files = bundles.read_files(bundles.write_bundle(desk.conversation, tmp_path))
    (line,) = files[bundles.find_name(files, "questions.jsonl")].splitlines()
    assert (json.loads(line)["decided_by"], json.loads(line)["decider"]) == ("memory", "Ada")
    markdown = files[bundles.find_name(files, "conversation.md")].decode()
    assert text in markdown.replace("\\", "")
    sealing.seal_entries()
    assert list(verification.find_problems()) == []


def test_remembered_answer_is_no_question_that_its_person_answered(desk: ReviewDesk):
    answered_row = desk.close(by=making.decider(desk.rita))
    desk.close(by=Decider("memory", "Rita", desk.rita.pk))
    assert closed_inquiries.list_decided_by(desk.rita.pk) == [answered_row]


@pytest.mark.parametrize("person_id", [None, 10**6, 0, 2**70])
def test_remembered_answer_without_a_known_person_still_reads(
    desk: ReviewDesk, person_id: int | None
):
    row = desk.close(by=Decider("memory", person_id=person_id))
    assert row.decider_id is None
    page = signed_in(desk.ben).get(f"/questions/{row.pk}").content.decode()
    assert "remembered answer" in page
    assert reviews.load_history(load(row)).find_slot(desk.ada.pk) == (1, 1)
