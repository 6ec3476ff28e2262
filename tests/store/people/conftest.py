"""Fixtures of the tests of groups."""

from __future__ import annotations

import pytest

from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.models import Group, Person, Workspace
from tests.store import making
from tests.store.people.grouping import make_group


@pytest.fixture
def owner(workspace: Workspace) -> Person:
    return making.person("owner", Role.OWNER, workspace)


@pytest.fixture
def orchard(owner: Person) -> Workspace:
    """A second workspace of the owner, in which Ada is not."""
    workspace = making.workspace("Orchard")
    accounts.make_owner(owner, workspace)
    return workspace


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.READER, workspace)


@pytest.fixture
def group(owner: Person, ada: Person) -> Group:
    """A group to which Ada was added, and that she has not accepted."""
    return make_group("Night shift", owner, ada)
