from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db.models import DateTimeField, Model

from jpweb.store.choices import Role
from jpweb.store.models import Conversation
from tests.load.answers import parked
from tests.store import making

#: Differ between any two conversations.
KEYS = {"id", "conversation_id", "run_id", "jp_id"}
#: A hash of the workspace and the question, which SQL cannot make.
HASHES = {"same_question_key"}


def describe_rows(conversation_id: int) -> dict[str, list[dict[str, Any]]]:
    """Return every row of a conversation, by table, without keys, hashes and times."""
    rows = {"Conversation": describe(Conversation, pk=conversation_id)}
    for relation in Conversation._meta.related_objects:
        model = relation.related_model
        rows[model.__name__] = describe(model, conversation_id=conversation_id)
    return rows


def describe(model: type[Model], **filters: Any) -> list[dict[str, Any]]:
    fields = [
        field for field in model._meta.concrete_fields if not isinstance(field, DateTimeField)
    ]
    names = [str(field.attname) for field in fields if field.attname not in KEYS | HASHES]
    return list(model._default_manager.filter(**filters).order_by("pk").values(*names))


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1, 7])
def test_copied_conversation_has_the_rows_of_one_made_by_jpweb(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parked, "get_utc_now", lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    workspace, other_workspace = making.workspace(), making.workspace()
    person = making.person("ada", Role.RESPONDER, workspace)
    source = parked.park_run(workspace, person)
    parked.index_and_scan(source)

    parked.copy_conversation(source, range(1, 8), [other_workspace.pk])
    original = parked.park_run(other_workspace, person)
    parked.index_and_scan(original)

    rows = describe_rows(source + number)
    assert rows == describe_rows(original)
    assert {table for table, table_rows in rows.items() if not table_rows} == {
        "ReadMark",
        "Approval",
        "Bookmark",
        "CommentThread",
        "Redaction",
        "Review",
        "ReviewTask",
        "SuspectedSecret",
        "Trust",
    }
