"""Review queues and suspected secrets as files: all rows that their pages list."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.choices import Act, Role, Verdict
from jpweb.store.errors import ExportBroken
from jpweb.store.evidence import queue_pages
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import LedgerEntry, Membership, Person, SuspectedSecret
from jpweb.store.reviews import assignments, queues, subjects
from jpweb.store.suspected_secrets import suggestions
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from jpweb.web.views.audit import review_queues, suspected_secrets
from tests import bundles
from tests.store import making
from tests.store.reviews import desk
from tests.web.reading import parse_page
from tests.web.views.audit.test_exports import get, get_name, read_body, save
from tests.web.world import SECRET, World

QUEUE = "/audit/reviews/cancelled.csv"


@pytest.fixture
def cancelled_world(world: World) -> World:
    """Return a world with three cancelled questions; one asks a formula."""
    cancelled = Cancelled(CancellationReason.USER)
    making.settle(world.question, cancelled, making.decider(world.people["owner"]))
    for text in ("=1+1", "Third"):
        making.settle(making.question(world.run, text=text), cancelled)
    return world


def read_rows(response: Any) -> list[dict[str, str]]:
    text = read_body(response).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_queue_file_has_the_rows_of_the_queue(cancelled_world: World):
    world = cancelled_world
    auditor = world.people["auditor"]
    subject = desk.load(world.question)
    assignments.assign(subject, auditor.pk, Actor.from_person(world.people["owner"]))
    rows = read_rows(get(world, QUEUE))
    assert tuple(rows[0]) == review_queues.CSV_COLUMNS
    assert [row["question"] for row in rows] == ["Third", "'=1+1", "Go on?"]
    row = rows[-1]
    assert (row["outcome"], row["reason"], row["decider"]) == ("cancelled", "user", "Owner")
    assert (row["assigned_to"], row["review"]) == ("Auditor", "Not reviewed")
    anchor = world.anchor
    path = f"/conversations/{world.conversation.pk}?at={anchor}#{anchor}"
    assert row["link"] == f"http://testserver{path}"
    assert get_name(get(world, QUEUE)).startswith("reviews-cancelled-")
    page = parse_page(get(world, "/audit/reviews/cancelled"))
    assert page.find_one(href=QUEUE).text == "Download as CSV"


def test_queue_file_covers_all_pages_and_breaks_off_without_the_role(
    cancelled_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queues, "PAGE_ITEMS", 2)
    auditor = cancelled_world.people["auditor"]
    assert [page.done for page in queue_pages.read_pages(auditor.pk, "cancelled")] == [2, 3]
    pages = queue_pages.read_pages(auditor.pk, "cancelled")
    assert next(pages)[1:] == (2, 3)
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(pages)


def test_whole_conversation_in_a_queue_has_no_question(cancelled_world: World):
    world = cancelled_world
    subject = subjects.load_conversation(world.conversation)
    actor = Actor.from_person(world.people["owner"])
    assignments.assign(subject, world.people["auditor"].pk, actor)
    (row,) = read_rows(get(world, "/audit/reviews/assigned.csv"))
    assert (row["question"], row["outcome"], row["conversation_title"]) == ("", "", "A talk")
    assert row["assigned_to"] == "Auditor"


def read_lines(response: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_body(response).decode().splitlines()]


def require_two(world: World) -> tuple[Person, Person]:
    """Let the workspace need two reviews; return two auditors who took no part."""
    world.workspace.reviews_required = 2
    world.workspace.save()
    return making.person("ada", Role.AUDITOR, world.workspace), world.people["auditor"]


def test_queue_file_says_who_disagreed_on_what(cancelled_world: World):
    world = cancelled_world
    ada, auditor = require_two(world)
    desk.send(desk.load(world.question), ada, Verdict.WRONG, "=1+1")
    desk.send(desk.load(world.question), auditor, Verdict.FINE)
    (row,) = read_rows(get(world, "/audit/reviews/disagreed.csv"))
    assert (row["review by Ada"], row["review note by Ada"]) == ("wrong", "'=1+1")
    assert (row["review by Auditor"], row["review note by Auditor"]) == ("fine", "")
    assert row["review time by Auditor"] > row["review time by Ada"]
    (line,) = read_lines(get(world, "/audit/reviews/disagreed.jsonl"))
    assert {name: line[name] for name in ("question", "outcome", "review")} == {
        "question": "Go on?",
        "outcome": "cancelled",
        "review": "Reviewers disagree",
    }
    assert [
        (review["reviewer"], review["verdict"], review["note"], review["is_hidden"])
        for review in line["reviews"]
    ] == [("Ada", "wrong", "=1+1", False), ("Auditor", "fine", "", False)]
    assert len(read_rows(get(world, QUEUE))) == 3


def test_queue_file_hides_blind_reviews_also_of_a_conversation(cancelled_world: World):
    world = cancelled_world
    ada, _ = require_two(world)
    world.conversation.refresh_from_db()
    subject = subjects.load_conversation(world.conversation)
    desk.send(subject, ada, Verdict.WRONG, "Look at this.")
    response = get(world, "/audit/reviews/second.csv")
    (row,) = read_rows(response)
    assert (row["review by Ada"], row["review note by Ada"]) == ("hidden", "")
    body = read_body(get(world, "/audit/reviews/second.jsonl")).decode()
    assert "Look at this." not in body
    (review,) = json.loads(body)["reviews"]
    assert review["is_hidden"]
    assert "verdict" not in review


def test_queue_page_offers_its_formats(cancelled_world: World):
    page = parse_page(get(cancelled_world, "/audit/reviews/cancelled"))
    links = {tag.get("href") for tag in page}
    assert {"/audit/reviews/cancelled.jsonl", "/audit/reviews/cancelled/evidence.zip"} <= links
    assert read_lines(get(cancelled_world, "/audit/reviews/late.jsonl")) == []
    for end in (".jsonl", "/evidence.zip"):
        assert get(cancelled_world, f"/audit/reviews/unknown{end}").status_code == 404


def test_queue_bundle_has_its_conversations_alone(cancelled_world: World, tmp_path: Path):
    world = cancelled_world
    making.settle(
        making.question(making.start_run(making.conversation(world.workspace))),
        Answered(answer=True),
    )
    response = get(world, "/audit/reviews/cancelled/evidence.zip")
    assert get_name(response).startswith("reviews-cancelled-")
    path = save(response, tmp_path)
    assert bundles.list_problems(path) == []
    manifest = json.loads(bundles.read_files(path)["manifest.json"])
    assert [row["id"] for row in manifest["conversations"]] == [world.conversation.pk]
    assert manifest["filter"] == "reviews, queue=cancelled"
    entry = LedgerEntry.objects.get(act=Act.EXPORTED)
    assert entry.conversation_id == world.conversation.pk


def test_suspected_secrets_as_lines_have_the_list_without_secrets(world: World):
    suggestion = world.suggestion
    response = get(world, "/audit/secrets.jsonl")
    assert get_name(response).endswith(".jsonl")
    assert SECRET not in read_body(response).decode()
    (line,) = read_lines(get(world, "/audit/secrets.jsonl", workspace=world.workspace.pk))
    assert tuple(line) == tuple(sorted(suspected_secrets.CSV_COLUMNS))
    assert (line["kind"], line["event"]) == (suggestion.kind, suggestion.position)
    assert read_lines(get(world, "/audit/secrets.jsonl", state="dismissed")) == []
    assert get(world, "/audit/secrets.jsonl", state="odd").status_code == 422
    page = parse_page(get(world, "/audit/secrets", workspace=world.workspace.pk))
    assert page.find_one(href=f"/audit/secrets.jsonl?workspace={world.workspace.pk}")


def test_empty_and_unknown_queues(world: World):
    assert read_rows(get(world, "/audit/reviews/late.csv")) == []
    assert get(world, "/audit/reviews/unknown.csv").status_code == 404


def test_file_of_suspected_secrets_has_the_list_without_secrets(world: World):
    suggestion = world.suggestion
    response = get(world, "/audit/secrets.csv")
    assert SECRET not in read_body(response).decode()
    (row,) = read_rows(response)
    assert tuple(row) == suspected_secrets.CSV_COLUMNS
    assert (row["kind"], row["workspace"], row["state"]) == (suggestion.kind, "Garden", "open")
    assert row["event"] == str(suggestion.position)
    assert f"at={suggestion.anchor}#" in row["link"]
    assert read_rows(get(world, "/audit/secrets.csv", state="dismissed")) == []
    assert read_rows(get(world, "/audit/secrets.csv", workspace=world.other_workspace.pk)) == []
    assert get(world, "/audit/secrets.csv", state="odd").status_code == 422
    name = get_name(get(world, "/audit/secrets.csv", workspace=world.workspace.pk))
    assert name.startswith("suspected-secrets-garden-open-")
    page = parse_page(get(world, "/audit/secrets", workspace=world.workspace.pk))
    assert page.find_one(href=f"/audit/secrets.csv?workspace={world.workspace.pk}")


def test_secrets_file_has_decider_and_comment(world: World):
    suggestions.dismiss(world.suggestion, world.people["auditor"], "=1+1")
    (row,) = read_rows(get(world, "/audit/secrets.csv", state="dismissed"))
    assert (row["decider"], row["comment"]) == ("Auditor", "'=1+1")
    assert row["decided_at"]


def test_files_are_entries_of_the_workspaces_of_their_rows(cancelled_world: World):
    world = cancelled_world
    assert world.suggestion.state == "open"
    for path in (QUEUE, "/audit/secrets.csv", "/audit/secrets.jsonl"):
        read_body(get(world, path))
    entries = LedgerEntry.objects.filter(act=Act.EXPORTED)
    assert set(entries.values_list("workspace_id", flat=True)) == {world.workspace.pk}


def test_long_list_of_suspected_secrets_comes_in_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    first = world.suggestion
    SuspectedSecret.objects.create(
        **{
            field.attname: getattr(first, field.attname)
            for field in SuspectedSecret._meta.concrete_fields
            if field.attname not in ("id", "start")
        },
        start=first.start + 1,
    )
    monkeypatch.setattr(suggestions, "PAGE_ROWS", 1)
    auditor = world.people["auditor"]
    pages = suggestions.read_pages(auditor.pk, "open", None)
    assert [page[1:] for page in pages] == [(1, False), (2, True)]
    pages = suggestions.read_pages(auditor.pk, "open", None)
    next(pages)
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(pages)
