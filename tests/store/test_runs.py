from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import runs
from jpweb.store.choices import RunState
from jpweb.store.models import Conversation, Run
from jpweb.store.run_queue import leases
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
        found = runs.get_newest(talk.pk)
        assert found == last
        assert found is not None
        assert found.started_by == ada
    assert len(captured) == 1
    assert runs.get_newest(making.conversation(home).pk) is None


def test_run_whose_journal_takes_no_end_is_lost_and_the_next_one_is_recovered(
    caplog: pytest.LogCaptureFixture,
):
    home = making.workspace()
    broken, other = (making.running(making.conversation(home)) for _ in range(2))
    Run.objects.filter(pk=broken.pk).update(death_count=runs.MAX_DEATHS)
    Conversation.objects.filter(pk=broken.conversation_id).update(entry_count=0)
    leases.renew_leases([broken.pk, other.pk], making.HOLDER, -1)
    assert runs.recover_expired(0) == [broken, other]
    assert runs.recover_expired(0) == []
    states = Run.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == [RunState.LOST, RunState.QUEUED]
    assert len([r for r in caplog.records if "without an end on record" in r.message]) == 1
