"""A filter without an index scans a share of each workspace's rows, and loses no match."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.store.models import Conversation, Person
from jpweb.store.sql import keyset_merge
from jpweb.store.sql.keyset_cursor import Cursor
from tests.store.conversation_list.rows import (
    get_titles,
    make_conversations,
    make_workspaces,
    page_forward,
)

pytestmark = pytest.mark.django_db


def test_match_beyond_another_workspaces_scanned_part_comes_later(
    reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 6)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    busy, quiet = make_workspaces(reader, 2)
    make_conversations(quiet, 3)
    make_conversations(busy, 20, first=4)
    pages = page_forward(reader, words="talk")
    assert [title for page in pages for title in get_titles(page)] == [
        f"talk {n}" for n in range(23, 0, -1)
    ]
    assert get_titles(pages[0]) == ["talk 23", "talk 22"], "a third workspace has its share too"


@pytest.mark.parametrize("comes_one", [True, False], ids=["comes", "goes"])
def test_filter_loses_no_match_where_another_row_comes_or_goes_meanwhile(
    reader: Person, monkeypatch: pytest.MonkeyPatch, comes_one: bool
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 9)
    busy, quiet = make_workspaces(reader, 2)
    make_conversations(quiet, 4)
    make_conversations(busy, 20, first=5)
    change_rows = [
        lambda: (
            make_conversations(busy, 1, first=99)
            if comes_one
            else Conversation.objects.filter(title="talk 23").delete()
        )
    ]
    merge = keyset_merge._merge

    def change_and_merge(*args: Any, horizon: Cursor | None, **kwargs: Any) -> Any:
        while horizon and change_rows:
            change_rows.pop()()
        return merge(*args, horizon=horizon, **kwargs)

    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 1)
    monkeypatch.setattr(keyset_merge, "_merge", change_and_merge)
    title_list = [
        title for page in page_forward(reader, words="talk") for title in get_titles(page)
    ]
    assert not change_rows
    assert [title for title in title_list if title not in ("talk 99", "talk 23")] == [
        f"talk {n}" for n in (24, *range(22, 0, -1))
    ]
