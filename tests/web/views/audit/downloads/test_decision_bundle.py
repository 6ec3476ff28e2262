"""The evidence bundle of filtered decisions: the conversations that they are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Conversation, LedgerEntry, Membership
from jpweb.stream.inquiry import Answered
from tests import bundles
from tests.store import making
from tests.web.reading import parse_page
from tests.web.views.audit.test_exports import get, save
from tests.web.world import World


@pytest.fixture
def decided_world(world: World) -> World:
    """Return a world with two decided conversations, an undecided one and one elsewhere."""
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    making.question(making.start_run(making.conversation(world.workspace, "Undecided")))
    elsewhere = making.question(making.start_run(making.conversation(world.other_workspace)))
    making.settle(elsewhere, Answered(True))
    trusted = making.conversation(world.workspace, "Trusted")
    record_act(Act.TRUST_GIVEN, OPERATOR, Place(world.workspace.pk, trusted.pk))
    return world


def read_manifest(world: World, folder: Path, **query: Any) -> dict[str, Any]:
    path = save(get(world, "/audit/decisions/evidence.zip", **query), folder)
    assert bundles.list_problems(path) == []
    manifest: dict[str, Any] = json.loads(bundles.read_files(path)["manifest.json"])
    return manifest


def list_titles(manifest: dict[str, Any]) -> list[str]:
    return [row["title"] for row in manifest["conversations"]]


@pytest.mark.parametrize("is_sealed", [False, True])
def test_bundle_has_the_conversations_of_the_decisions(
    decided_world: World, tmp_path: Path, is_sealed: bool
):
    if is_sealed:
        sealing.seal_entries()
    manifest = read_manifest(decided_world, tmp_path)
    assert list_titles(manifest) == ["A talk", "Trusted"]
    assert manifest["filter"] == "decisions, no filter"
    manifest = read_manifest(decided_world, tmp_path, kind="question")
    assert list_titles(manifest) == ["A talk"]
    assert manifest["filter"] == "decisions, kind=question"


def test_decision_bundle_ignores_entries_of_deleted_conversations(
    decided_world: World, tmp_path: Path
):
    deleted_conversation = making.conversation(decided_world.workspace, "Gone")
    record_act(
        Act.TRUST_GIVEN, OPERATOR, Place(decided_world.workspace.pk, deleted_conversation.pk)
    )
    sealing.seal_entries()
    Conversation.objects.filter(pk=deleted_conversation.pk).delete()
    forged = making.conversation(decided_world.workspace, "Forged")
    record_act(Act.TRUST_GIVEN, OPERATOR, Place(decided_world.workspace.pk, forged.pk))
    LedgerEntry.objects.filter(conversation_id=forged.pk).update(mac="0" * 64)
    assert list_titles(read_manifest(decided_world, tmp_path)) == ["A talk", "Trusted"]


def test_decisions_about_no_conversation_are_a_bundle_of_none(world: World, tmp_path: Path):
    actor = Actor.from_person(world.people["owner"])
    accounts.change_role(world.member("reader"), Role.RESPONDER, actor)
    assert list_titles(read_manifest(world, tmp_path)) == []


def test_export_is_an_entry_of_each_of_its_conversations(decided_world: World):
    world = decided_world
    auditor = world.people["auditor"]
    Membership.objects.create(person=auditor, workspace=world.other_workspace, role=Role.AUDITOR)
    list(get(world, "/audit/decisions/evidence.zip"))
    entries = LedgerEntry.objects.filter(act=Act.EXPORTED, person_id=auditor.pk).order_by("pk")
    keys = list(entries.values_list("conversation_id", flat=True))
    assert set(entries.values_list("workspace_id", flat=True)) == {
        world.workspace.pk,
        world.other_workspace.pk,
    }
    assert len(keys) == len(set(keys)) == 3


def test_page_offers_the_bundle_with_its_filters(decided_world: World):
    page = parse_page(get(decided_world, "/audit/decisions", kind="run", view="timeline"))
    links = [tag.get("href") for tag in page]
    assert "/audit/decisions/evidence.zip?kind=run" in links
