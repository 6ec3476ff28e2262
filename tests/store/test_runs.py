from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import runs
from jpweb.store.models import Run
from jpweb.store.terms import RunState
from tests.store import making

pytestmark = pytest.mark.django_db


def test_the_latest_run_of_a_conversation_comes_with_who_started_it():
    home, ada = making.workspace(), making.person("ada")
    talk, other = making.conversation(home), making.conversation(home)
    making.running(talk)
    Run.objects.update(state=RunState.DONE)
    last = making.running(talk, ada)
    making.running(other)
    with CaptureQueriesContext(connection) as captured:
        found = runs.latest(talk.pk)
        assert found == last
        assert found is not None
        assert found.started_by == ada
    assert len(captured) == 1
    assert runs.latest(making.conversation(home).pk) is None
