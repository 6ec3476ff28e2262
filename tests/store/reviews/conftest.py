"""Fixtures of the tests of reviews."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Membership, Person, Run
from tests.machine.suite.row_copies import RowCopies
from tests.store import making
from tests.store.reviews.desk import ReviewDesk

copy_desk = RowCopies(ReviewDesk)


@pytest.fixture
def desk(db: None) -> ReviewDesk:
    return copy_desk()


@pytest.fixture
def conversations(db: None) -> list[Conversation]:
    """Return conversations of two workspaces."""
    return [making.conversation(making.workspace(name)) for name in ("Garden", "Orchard")]


@pytest.fixture
def auditor(conversations: list[Conversation]) -> Person:
    person = making.person("auditor", Role.AUDITOR, conversations[0].workspace)
    Membership.objects.create(
        person=person, workspace=conversations[1].workspace, role=Role.AUDITOR_ONLY
    )
    return person


@pytest.fixture
def run(auditor: Person) -> Run:
    """Return the only run of what an auditor sees."""
    return Run.objects.select_related("conversation__workspace").get()
