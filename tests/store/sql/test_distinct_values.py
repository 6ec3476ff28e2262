from __future__ import annotations

import pytest

from jpweb.store.models import Inquiry
from jpweb.store.sql.distinct_values import list_distinct
from tests.store import making
from tests.store.reviews import audited_rows

pytestmark = pytest.mark.django_db


def test_values_of_each_column_are_listed_once_and_sorted():
    conversations = [making.conversation(making.workspace(name)) for name in ("A", "B", "C")]
    for conversation, tool in zip(
        [0, 0, 0, 1, 1, 2], ["b", "a", "b", "Ä", "", "hidden"], strict=True
    ):
        audited_rows.save_inquiry(conversations[conversation], asker=tool)
    workspace_ids = [conversation.workspace_id for conversation in conversations]
    columns = ("asker", "anchor", "reason")
    tools, anchors, reasons = list_distinct(Inquiry.TABLE, columns, workspace_ids[:2], 9)
    assert (tools, len(anchors), reasons) == (["a", "b", "Ä"], 5, [])
    assert list_distinct(Inquiry.TABLE, columns, [], 9) == [[], [], []]
    values = list_distinct(Inquiry.TABLE, columns, workspace_ids, 2)
    assert [len(column_values) for column_values in values] == [2, 2, 0]
