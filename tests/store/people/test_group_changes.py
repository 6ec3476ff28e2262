"""The ledger has each change of a group, for those who audit its workspaces."""

from __future__ import annotations

import json

import pytest

from jpweb.store.choices import Act, DecisionKind, Role
from jpweb.store.ledger import listing
from jpweb.store.ledger.listing import LedgerFilters
from jpweb.store.models import (
    Group,
    LedgerEntry,
    Person,
    Workspace,
)
from jpweb.store.people import group_members, groups
from jpweb.store.reviews import decisions
from jpweb.store.reviews.decisions import DecisionFilters
from tests.store import making
from tests.store.people.grouping import act_as, find_row, give, join, make_group

pytestmark = pytest.mark.django_db


def test_accepting_is_an_act_of_the_person(group: Group, ada: Person, orchard: Workspace):
    give(group, orchard, Role.READER)
    last_key = LedgerEntry.objects.latest("pk").pk
    join(group, ada)
    join(group, ada)
    group_members.leave_group(find_row(group, ada), ada)
    entries = LedgerEntry.objects.filter(pk__gt=last_key).order_by("pk")
    contents = [json.loads(entry.text)["details"] for entry in entries]
    acts = [
        (Act(entry.act), details.get("kind"))
        for entry, details in zip(entries, contents, strict=True)
    ]
    assert acts == [
        (Act.GROUP_CHANGED, "accepted"), (Act.MEMBER_ADDED, None),
        (Act.GROUP_CHANGED, "left"), (Act.MEMBER_REMOVED, None),
    ]  # fmt: skip
    assert {entry.person_id for entry in entries} == {ada.pk}
    subjects = [f"group:{group.pk}", f"person:{ada.pk}"]
    assert [entry.subject for entry in entries] == subjects * 2
    assert {details["group"] for details in contents} == {"Night shift"}


def test_declining_is_an_act_of_the_person(group: Group, ada: Person):
    group_members.leave_group(find_row(group, ada), ada)
    entry = LedgerEntry.objects.latest("pk")
    assert (entry.person_id, entry.act) == (ada.pk, Act.GROUP_CHANGED)
    assert '"kind":"declined"' in entry.text


def test_owners_of_each_workspace_of_a_group_see_its_changes(
    group: Group, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.READER)
    give(group, orchard, Role.READER)
    olga = making.person("olga", Role.OWNER, orchard)
    group_members.leave_group(find_row(group, ada), ada)
    group_members.add_person(group, ada, act_as())
    group_members.remove_person(group, ada, act_as())
    groups.delete_group(group, act_as())
    filters = LedgerFilters(act=Act.GROUP_CHANGED, workspace=orchard.pk)
    kinds = [
        json.loads(entry.text)["details"]["kind"]
        for entry in listing.list_entries(olga.pk, filters)
    ]
    assert kinds == ["deleted", "person removed", "person added", "declined", "role given"]
    page, _ = decisions.list_page(olga.pk, DecisionFilters(kind=DecisionKind.RIGHTS), None)
    rows = [decision.row for decision in page]
    changes = [row for row in rows if getattr(row, "act", "") == Act.GROUP_CHANGED]
    assert len(changes) == len(kinds)


def test_departures_are_the_latest_of_each_person_who_is_not_in_the_group(
    group: Group, owner: Person, ada: Person, workspace: Workspace, orchard: Workspace
):
    give(group, workspace, Role.READER)
    give(group, orchard, Role.READER)
    ben = making.person("ben", Role.READER, workspace)
    group_members.leave_group(find_row(group, ada), ada)
    for _ in range(2):
        group_members.add_person(group, ben, act_as())
        join(group, ben)
        group_members.leave_group(find_row(group, ben), ben)
    other_group = make_group("Day shift", owner, ada)
    departures = group_members.list_departures(group)
    assert [(row.person, row.is_declined) for row in departures] == [(ben, False), (ada, True)]
    changes = LedgerEntry.objects.filter(person_id=ben.pk, act=Act.GROUP_CHANGED)
    assert departures[0].at == changes.latest("pk").at
    assert group_members.list_departures(other_group) == []
    group_members.add_person(group, ada, act_as())
    assert [row.person for row in group_members.list_departures(group)] == [ben]


def test_forged_and_purged_entries_are_no_departures(group: Group, ada: Person, owner: Person):
    group_members.leave_group(find_row(group, ada), ada)
    entry = LedgerEntry.objects.latest("pk")
    LedgerEntry.objects.filter(pk=entry.pk).update(text="")
    assert group_members.list_departures(group) == []
    LedgerEntry.objects.filter(pk=entry.pk).update(text=entry.text)
    assert group_members.list_departures(group)
    LedgerEntry.objects.filter(pk=entry.pk).update(mac="0" * 64)
    assert group_members.list_departures(group) == []
