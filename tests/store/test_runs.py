from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import approvals, journal, runs
from jpweb.store.choices import Act, ApprovalKind, RunState
from jpweb.store.inquiries import Decider
from jpweb.store.models import Conversation, LedgerEntry, Run
from jpweb.store.run_queue import leases
from jpweb.stream.events import ToolCallResponse
from tests.store import making

pytestmark = pytest.mark.django_db


def test_the_latest_run_of_a_conversation_comes_with_who_started_it():
    workspace, ada = making.workspace(), making.person("ada")
    conversation, other_conversation = (
        making.conversation(workspace),
        making.conversation(workspace),
    )
    making.start_run(conversation)
    Run.objects.update(state=RunState.DONE)
    last = making.start_run(conversation, ada)
    making.start_run(other_conversation)
    with CaptureQueriesContext(connection) as captured:
        newest_run = runs.get_newest(conversation.pk)
        assert newest_run == last
        assert newest_run is not None
        assert newest_run.started_by == ada
    assert len(captured) == 1
    assert runs.get_newest(making.conversation(workspace).pk) is None


def test_start_of_a_run_is_an_entry_of_its_starter():
    ada, conversation = making.person("ada"), making.conversation(making.workspace())
    making.start_run(conversation, ada)
    entry = LedgerEntry.objects.get(act=Act.RUN_STARTED)
    assert (entry.person_id, entry.conversation_id) == (ada.pk, conversation.pk)


def test_decision_of_an_interrupted_call_keeps_no_run_from_parking():
    conversation = making.conversation(making.workspace())
    run = making.start_run(conversation)
    approval = approvals.request_approval(conversation.pk, ApprovalKind.RUN, "call_1", "vault", {})
    approvals.decide_approval(approval.pk, {"allow": True}, Decider("person", "Ada"))
    other_approval = making.prompt(run)
    assert runs.park_run(run, [], [other_approval.pk]) is False, "the call may go on with it"
    response = making.event(ToolCallResponse("call_1", "The user responded.", is_error=False))
    journal.append_events(conversation.pk, [response], run)
    assert runs.park_run(run, [], [other_approval.pk]) is True


def test_run_whose_journal_refuses_its_end_is_lost_and_others_recover(
    caplog: pytest.LogCaptureFixture,
):
    workspace = making.workspace()
    broken, other_run = (making.start_run(making.conversation(workspace)) for _ in range(2))
    Run.objects.filter(pk=broken.pk).update(death_count=runs.MAX_DEATHS)
    Conversation.objects.filter(pk=broken.conversation_id).update(entry_count=0)
    leases.renew_leases([broken.pk, other_run.pk], making.HOLDER, -1)
    assert runs.recover_expired(0) == [broken, other_run]
    assert runs.recover_expired(0) == []
    states = Run.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == [RunState.LOST, RunState.QUEUED]
    assert len([r for r in caplog.records if "its end could not be recorded" in r.message]) == 1
