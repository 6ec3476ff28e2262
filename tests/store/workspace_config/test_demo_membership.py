"""The demo, hidden and shown again: the person's own role in it, and that of a group."""

from __future__ import annotations

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import DEMO_ROOT, Membership
from jpweb.store.people import group_members, groups
from jpweb.store.workspace_config import demo_membership
from tests.store import making


@pytest.mark.django_db
def test_show_demo_gives_the_role_of_a_group_as_long_as_it_has_one():
    demo = making.workspace("Demo")
    demo.root = DEMO_ROOT
    demo.save()
    owner, ada = making.person("owner", Role.OWNER, demo), making.person("ada", Role.READER, demo)
    actor = Actor.from_person(owner)
    group = groups.create_group("Night shift", owner)
    group_members.add_person(group, ada, actor)
    groups.give_role(group, demo, Role.OWNER, actor)
    demo_membership.hide_demo(ada.pk)
    assert accounts.get_role(ada.pk, demo.pk) is None
    demo_membership.show_demo(ada.pk)
    member = Membership.objects.get(person=ada, workspace=demo)
    assert (member.role, member.direct_role) == (Role.OWNER, Role.READER)
    groups.delete_group(group, actor)
    assert accounts.get_role(ada.pk, demo.pk) == Role.READER
