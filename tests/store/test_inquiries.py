from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import inquiries
from jpweb.store.choices import Role
from jpweb.store.models import Workspace
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, Redacted
from tests.store import making

pytestmark = pytest.mark.django_db


def test_count_by_state_has_one_order_on_every_engine(workspace: Workspace):
    run = making.start_run(making.conversation(workspace, "asked"))
    cancelled = Cancelled(CancellationReason.USER)
    for outcome in (cancelled, Redacted(), Answered(True), cancelled):
        making.settle(making.question(run), outcome)
    making.question(run)
    counts = inquiries.count_by_state([run.conversation_id])[run.conversation_id]
    assert list(counts.items()) == [
        ("open", 1),
        ("answered", 1),
        ("redacted", 1),
        ("cancelled", 2),
    ]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the plan is SQLite's")
def test_questions_of_a_conversation_are_found_by_state_and_conversation(
    workspace: Workspace,
):
    run = making.start_run(making.conversation(workspace, "asked"))
    person = making.person("ada", Role.RESPONDER, workspace)
    question = making.question(run)
    with CaptureQueriesContext(connection) as captured:
        inquiries.count_by_state([run.conversation_id])
        open_rows = list(inquiries.list_open_in([run.conversation_id], [person.pk]))
    plans = []
    for query in captured:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plans.append("\n".join(str(row[-1]) for row in cursor.fetchall()))
    assert open_rows == [question]
    assert [plan for plan in plans if "(state=? AND conversation_id=?)" not in plan] == []
