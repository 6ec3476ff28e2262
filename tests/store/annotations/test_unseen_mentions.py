"""The count of new mentions in the header follows the workspaces in which a person may read."""

from __future__ import annotations

import pytest

from jpweb.store import accounts, journal
from jpweb.store.annotations import threads
from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import DEMO_ROOT, Membership, Person, Workspace
from jpweb.store.people import group_members, groups, invitations
from jpweb.store.workspace_config import demo_membership
from jpweb.stream.events import ChatRequest
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(workspace: Workspace) -> Person:
    return making.person("owner", Role.OWNER, workspace)


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.READER, workspace)


def mention(person: Person, workspace: Workspace) -> None:
    conversation = making.mirrored_conversation(workspace, ChatRequest("Hello"))
    author = making.person("author", Role.READER, workspace)
    threads.add_comment(
        conversation, journal.find_anchor(conversation.pk, 0), author, f"@{person.username}, look"
    )
    assert count_unseen(person) == 1


def count_unseen(person: Person) -> int:
    return Person.objects.get(pk=person.pk).unseen_mention_count


def test_removed_member_has_no_new_mentions_until_invited_again(
    workspace: Workspace, owner: Person, ada: Person
):
    mention(ada, workspace)
    accounts.remove_member(Membership.objects.get(person=ada))
    assert count_unseen(ada) == 0
    token = invitations.create_invitation(workspace, "ada", Role.READER, owner)
    invitations.accept_invitation(invitations.find_invitation(token), ada, None)
    assert count_unseen(ada) == 1


def test_person_who_returns_as_the_owner_has_their_new_mentions(workspace: Workspace, ada: Person):
    mention(ada, workspace)
    accounts.remove_member(Membership.objects.get(person=ada))
    accounts.make_owner(ada, workspace)
    assert count_unseen(ada) == 1


def test_group_takes_new_mentions_with_its_role_and_brings_them_back(
    workspace: Workspace, owner: Person, ada: Person
):
    orchard, actor = making.workspace("Orchard"), Actor.from_person(owner)
    accounts.make_owner(owner, orchard)
    group = groups.create_group("Night shift", owner)
    group_members.add_person(group, ada, actor)
    group_members.accept_group(group.members.get(), ada)
    groups.give_role(group, orchard, Role.READER, actor)
    mention(ada, orchard)
    group_members.remove_person(group, ada, actor)
    assert count_unseen(ada) == 0
    group_members.add_person(group, ada, actor)
    assert count_unseen(ada) == 0
    group_members.accept_group(group.members.get(), ada)
    assert count_unseen(ada) == 1
    groups.take_role(group, orchard, actor)
    assert count_unseen(ada) == 0
    groups.give_role(group, orchard, Role.READER, actor)
    groups.delete_group(group, actor)
    assert count_unseen(ada) == 0


def test_hidden_demo_takes_its_new_mentions_along_and_brings_them_back(workspace: Workspace):
    Workspace.objects.filter(pk=workspace.pk).update(root=DEMO_ROOT)
    ada = making.person("ada", Role.OWNER, workspace)
    mention(ada, workspace)
    demo_membership.hide_demo(ada.pk)
    assert count_unseen(ada) == 0
    demo_membership.show_demo(ada.pk)
    assert count_unseen(ada) == 1
