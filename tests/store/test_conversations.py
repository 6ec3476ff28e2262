from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jpweb.store import conversations
from jpweb.store.choices import Origin
from jpweb.store.errors import UnknownConversation
from jpweb.store.models import Conversation, Person, Workspace
from tests.store import making

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


def make(workspace: Workspace, count: int) -> list[Conversation]:
    """Make conversations."""
    return Conversation.objects.bulk_create(
        Conversation(
            workspace=workspace,
            jp_id=number,
            origin=Origin.MIRRORED,
            title=f"talk {number}",
            last_activity=START,
        )
        for number in range(1, count + 1)
    )


def test_get_conversation_fetches_its_workspace_in_one_query(
    workspace: Workspace, django_assert_num_queries: Any
):
    (conversation,) = make(workspace, 1)
    with django_assert_num_queries(1):
        assert conversations.get_conversation(conversation.pk).workspace == workspace
    with pytest.raises(UnknownConversation):
        conversations.get_conversation(10**9)


def test_conversations_created_at_one_instant_have_different_ids(
    workspace: Workspace, reader: Person
):
    new_conversations = [
        conversations.create_conversation(workspace, "x" * 600, reader.pk) for _ in range(5)
    ]
    assert len({conversation.jp_id for conversation in new_conversations}) == 5
    assert {conversation.origin for conversation in new_conversations} == {Origin.NATIVE}
    assert {len(conversation.title) for conversation in new_conversations} == {500}
    assert new_conversations[0].started_by == reader


def test_find_by_jp_id_accepts_all_spellings_of_jp(workspace: Workspace):
    (conversation,) = make(workspace, 1)
    for spelling in ("1", "jp-c1", " jp-c1 ", "jp-c1-abcde"):
        assert conversations.find_by_jp_id(spelling) == conversation


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("x", "is not a conversation id"),
        ("", "is not a conversation id"),
        ("9" * 30, "is not a conversation id"),
        ("jp-c2", "No conversation here"),
        ("jp-c1-zzzzz", "No conversation here"),
    ],
)
def test_find_by_jp_id_reports_an_unknown_id(workspace: Workspace, spelling: str, message: str):
    make(workspace, 1)
    with pytest.raises(UnknownConversation, match=message):
        conversations.find_by_jp_id(spelling)


def test_find_by_jp_id_reports_an_ambiguous_id(workspace: Workspace):
    make(workspace, 1)
    make(making.workspace("Other"), 1)
    with pytest.raises(UnknownConversation, match=r"Several workspaces have 1: .*Garden.*Other"):
        conversations.find_by_jp_id("1")
