"""The filtered ledger as files: the entries of the page, and how many are left out."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store.choices import Act, Role
from jpweb.store.database import clock
from jpweb.store.errors import ExportBroken
from jpweb.store.ledger import listing, retention, sealing
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.ledger.listing import LedgerFilters
from jpweb.store.models import LedgerEntry, LedgerHead, Membership, Person
from jpweb.web import display_text
from jpweb.web.labels import ledger_cells
from tests.store import making
from tests.web.reading import parse_page
from tests.web.test_access import make_address
from tests.web.views.audit.test_exports import get, get_name, read_body
from tests.web.world import World

CSV, LINES = "/audit/ledger/entries.csv", "/audit/ledger/entries.jsonl"


@pytest.fixture
def acted_world(world: World) -> World:
    """Return a world in which the owner changed a role, and whose ledger is sealed."""
    world.client("owner").post(make_address("member-role", world), {"role": "20"})
    sealing.seal_entries()
    return world


def read_csv(world: World, name: str = "auditor", **query: Any) -> list[dict[str, str]]:
    text = read_body(get(world, CSV, name, **query)).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def read_lines(world: World, **query: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_body(get(world, LINES, **query)).splitlines()]


def test_file_has_the_entries_of_the_filter_and_counts_the_others(acted_world: World):
    total = LedgerHead.objects.get().sequence
    row, last = read_csv(acted_world, act="role_changed")
    assert tuple(row) == ledger_cells.COLUMNS
    entry = LedgerEntry.objects.get(act=Act.ROLE_CHANGED)
    assert (row["entry"], row["state"]) == (str(entry.sequence), "chained")
    assert (row["act"], row["label"], row["actor"]) == ("role_changed", "Role changed", "Owner")
    assert (row["decider"], row["workspace"]) == ("Owner", "Garden")
    assert row["decider_id"] == str(acted_world.people["owner"].pk)
    assert "person Reader" in row["details"]
    assert (row["text_hash"], row["link"]) == (entry.text_hash, "")
    assert (last["act"], last["details"]) == ("left_out", f"count {total - 1}")
    assert last["label"].startswith(f"{total - 1} other entries of the ledger: ")


@pytest.mark.parametrize("is_member", [True, False], ids=["as reader", "no more"])
def test_own_entry_of_a_workspace_not_audited_is_alike_in_page_and_file(
    world: World, is_member: bool
):
    auditor, workspace = world.people["auditor"], world.other_workspace
    if is_member:
        Membership.objects.create(person=auditor, workspace=workspace, role=Role.READER)
    conversation = making.conversation(workspace, "Elsewhere's talk", world.people["rival"])
    place = Place(workspace.pk, conversation.pk, f"conversation:{conversation.pk}")
    record_act(Act.READ, Actor.from_person(auditor), place, view="conversation")
    query = {"act": "read", "conversation": str(conversation.pk)}
    page = parse_page(get(world, "/audit/ledger", **query))
    (row,) = page.find_all(**{"data-act": "read"})
    (cell,) = [tag for tag in page if tag.get("data-label") == "Workspace" and row in tag.parents]
    links = [tag["href"] for tag in page if tag.tag == "a" and row in tag.parents]
    line, _ = read_lines(world, **query)
    path = f"/conversations/{conversation.pk}"
    name, link = ("Elsewhere", f"http://testserver{path}") if is_member else ("", "")
    assert (line["workspace"], line["link"], cell.text) == (name, link, name)
    assert links == ([path] if is_member else [])


def test_last_line_counts_the_purged_entries(acted_world: World):
    reader = Actor.from_person(acted_world.people["reader"])
    for _ in range(3):
        record_act(Act.READ, reader, Place(acted_world.workspace.pk), view="conversation")
    sealing.seal_entries()
    purged_count = retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR)
    last = read_lines(acted_world, act="role_changed")[-1]
    total = LedgerHead.objects.get().sequence
    assert purged_count >= 3
    assert last["details"] == {"count": total - 1, "purged": purged_count}
    assert f": {purged_count} of them were purged; " in last["label"]


def test_last_line_of_the_whole_ledger_names_purged_entries_alone(acted_world: World):
    reader = Actor.from_person(acted_world.people["reader"])
    record_act(Act.READ, reader, Place(acted_world.workspace.pk), view="conversation")
    sealing.seal_entries()
    purged_count = retention.purge_all(clock.now() + timedelta(seconds=1), OPERATOR)
    last = read_lines(acted_world)[-1]
    assert last["details"]["purged"] == purged_count


def test_purge_on_the_page_has_its_time_and_count(acted_world: World):
    reader = Actor.from_person(acted_world.people["reader"])
    for _ in range(3):
        record_act(Act.READ, reader, Place(acted_world.workspace.pk), view="conversation")
    sealing.seal_entries()
    before = clock.now() + timedelta(minutes=1)
    purged_count = retention.purge_all(before, OPERATOR)
    details = read_lines(acted_world, act="purged")[0]["details"]
    assert details["from before"] == display_text.format_minute(before)
    assert details["entries"] == purged_count
    assert list(details) == ["entries", "from before", "numbered"]


@pytest.mark.parametrize("sequences", [None, 3, "", "2-x", [3]])
def test_damaged_purge_has_no_count_on_the_page(acted_world: World, sequences: object):
    record_act(Act.PURGED, OPERATOR, Place(), sequences=sequences, entries_hash="")
    assert read_lines(acted_world, act="purged")[0]["details"].get("entries") == 0


def test_json_lines_are_the_rows_of_the_csv_with_types(acted_world: World):
    row, last = read_lines(acted_world, act="role_changed")
    assert row["details"]["person"] == "Reader"
    assert type(row["entry"]) is int
    assert row["decider_id"] == acted_world.people["owner"].pk
    assert last["details"] == {"count": LedgerHead.objects.get().sequence - 1}
    cells = read_csv(acted_world, act="role_changed")
    assert [set(line) for line in (row, last)] == [set(line) for line in cells]


def test_ledger_file_without_filters_has_the_entries_of_the_page(acted_world: World):
    making.question(making.start_run(making.conversation(acted_world.other_workspace)))
    sealing.seal_entries()
    page = parse_page(get(acted_world, "/audit/ledger"))
    acts = [tag["data-act"] for tag in page if "data-act" in tag]
    rows = read_csv(acted_world)
    exported, *other_acts, last = [row["act"] for row in rows]
    assert (exported, other_acts, last) == ("exported", acts, "left_out")
    assert {row["workspace"] for row in rows} <= {"Garden", ""}
    rival = {row["workspace"] for row in read_csv(acted_world, "rival")}
    assert "Garden" not in rival


def test_cell_that_a_spreadsheet_would_evaluate_is_escaped(acted_world: World):
    Person.objects.filter(username="owner").update(first_name="=1+1")
    actor = Actor.from_person(Person.objects.get(username="owner"))
    record_act(Act.GROUP_CHANGED, actor, Place(acted_world.workspace.pk), group="=HYPERLINK(1)")
    row = read_csv(acted_world, act="group_changed")[0]
    assert (row["actor"], row["decider"], row["state"]) == ("'=1+1", "'=1+1", "new")
    assert read_lines(acted_world, act="group_changed")[0]["actor"] == "=1+1"


def test_purged_and_forged_entries_say_so_and_have_no_content(acted_world: World):
    LedgerEntry.objects.filter(act=Act.ROLE_CHANGED).update(text="")
    place = Place(acted_world.workspace.pk)
    record_act(Act.TRUST_GIVEN, OPERATOR, place, name="Mallory")
    LedgerEntry.objects.filter(act=Act.TRUST_GIVEN).update(mac="0" * 64, subject="inquiry:x")
    (purged, *_), (forged, *_) = (
        read_csv(acted_world, act=act) for act in ("role_changed", "trust_given")
    )
    assert (purged["state"], purged["actor"], purged["details"]) == ("purged", "", "")
    assert (forged["state"], forged["actor"], forged["details"]) == ("forged", "", "")
    assert forged["link"] == ""


def test_ledger_file_links_a_question_only_for_people_with_access(acted_world: World):
    question = acted_world.question
    acted_world.client("auditor").post(
        make_address("question-answer", acted_world), {"answer": "true"}
    )
    row = read_csv(acted_world, act="inquiry_answered")[0]
    assert row["link"] == f"http://testserver/questions/{question.pk}"
    Membership.objects.filter(person=acted_world.people["auditor"]).update(
        workspace=acted_world.other_workspace
    )
    row = read_csv(acted_world, act="inquiry_answered")[0]
    assert (row["link"], row["workspace"]) == ("", "")


def test_long_file_comes_in_batches_with_few_queries(
    acted_world: World, monkeypatch: pytest.MonkeyPatch
):
    for number in range(5):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place(acted_world.workspace.pk), number=number)
    monkeypatch.setattr(listing, "_BATCH_ENTRIES", 2)
    auditor = acted_world.people["auditor"]
    batches = listing.read_batches(auditor.pk, LedgerFilters(act="role_changed"))
    with CaptureQueriesContext(connection) as queries:
        sizes = [len(batch.entries) for batch in batches]
    assert sizes == [2, 2, 2]
    assert len(queries) == 3 + 2 * len(sizes)
    batches = listing.read_batches(auditor.pk, LedgerFilters(act="role_changed"))
    next(batches)
    Membership.objects.filter(person=auditor).update(role=Role.READER)
    with pytest.raises(ExportBroken):
        next(batches)


def test_page_offers_the_files_with_its_filters_and_the_whole_ledger(acted_world: World):
    page = parse_page(get(acted_world, "/audit/ledger", act="role_changed"))
    links = {tag.get("href"): tag.text for tag in page if "href" in tag}
    assert links[f"{CSV}?act=role_changed"] == "Download as CSV"
    assert f"{LINES}?act=role_changed" in links
    assert any("whole ledger" in tag.text for tag in page.find_all(href="/audit/ledger.jsonl"))


def test_file_is_named_by_its_filters_and_days(acted_world: World):
    owner = acted_world.people["owner"]
    name = get_name(get(acted_world, CSV, person=owner.pk, until="2026-10-31"))
    assert name == "ledger-owner-until-2026-10-31.csv"
    workspace = acted_world.workspace
    name = get_name(get(acted_world, LINES, workspace=workspace.pk, act="read", since="2026-10-31"))
    assert name == "ledger-garden-read-from-2026-10-31.jsonl"
