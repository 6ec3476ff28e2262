"""“Who read mine”: who else opened or exported the conversations that a person started."""

from __future__ import annotations

import re

import pytest

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Person
from tests.store import making
from tests.web.world import World


@pytest.mark.parametrize("name", ["Operator", "Former member"])
def test_reader_without_an_account_is_named_by_what_they_are(world: World, name: str):
    place = Place(world.home.pk, world.talk.pk)
    actor = OPERATOR if name == "Operator" else Actor.from_person(making.person("gone"))
    record_act(Act.EXPORTED, actor, place, format="jp")
    Person.objects.filter(username="gone").delete()
    page = world.client("owner").get("/account/readers").content.decode()
    assert re.findall(r'data-label="Person"[^>]*>([^<]*)<', page) == [name]
