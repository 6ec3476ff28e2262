"""Copied rows are those that the store's code makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection

from jpweb.store.models import Conversation, Workspace
from tests import bundles
from tests.machine.suite.row_copies import RowCopies, read_all_rows
from tests.store import making
from tests.web.world import World, undone

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's rows are not copied"),
]


@pytest.mark.parametrize("make", [World, bundles.make_conversation])
def test_copied_rows_are_those_of_the_original(make: Callable[[], object]):
    copies, dumps = RowCopies(make), []
    for _ in range(2):
        with undone():
            copies()
            dumps.append(read_all_rows())
    assert dumps[0] == dumps[1]
    assert dumps[0]["store_inquiry"]


def test_copied_objects_are_the_tests_own():
    copies = RowCopies(World)
    with undone():
        world = copies()
        world.people["owner"].first_name = "Changed"
        key = world.conversation.pk
    copied_world = copies()
    assert copied_world.people["owner"].first_name == "Owner"
    assert Conversation.objects.get().pk == copied_world.conversation.pk == key


def test_rows_beside_others_are_made_instead_of_copied():
    copies = RowCopies(making.workspace)
    with undone():
        copies()
    making.workspace("Orchard")
    copies()
    assert sorted(Workspace.objects.values_list("name", flat=True)) == ["Garden", "Orchard"]


def test_rows_beside_others_are_not_kept():
    copies = RowCopies(making.workspace)
    with undone():
        making.workspace("Orchard")
        copies()
    copies()
    assert [each.name for each in Workspace.objects.all()] == ["Garden"]
