from __future__ import annotations

import pytest

from jpweb.store import inquiries
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
