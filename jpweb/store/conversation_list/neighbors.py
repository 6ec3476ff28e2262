"""The conversation before or after another one, in the order of the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jpweb.store.conversation_list import orderings, paginator
from jpweb.store.conversation_list.filters import ListFilters, Sort
from jpweb.store.models import Conversation
from jpweb.store.sql.keyset_cursor import Cursor
from jpweb.store.sql.keyset_merge import find_nearest


def find_neighbor(
    person_id: int, filters: ListFilters, conversation: Conversation, *, is_backward: bool
) -> int | None:
    """Return the key of the next or previous conversation of a list, None at its end.

    In the list of those that wait, one that waits no longer has no place: its neighbour is the
    first. The pinned conversations at the top of the list precede the others.
    """
    filters = replace(filters, before="", after="")
    workspace_ids = paginator.list_workspace_ids(person_id, workspace_id=filters.workspace)
    pinned_ids = paginator.list_top(workspace_ids, filters)
    shown_ids = paginator.filter_top(pinned_ids, filters) if pinned_ids else []
    if conversation.pk in shown_ids:
        index = shown_ids.index(conversation.pk) + (-1 if is_backward else 1)
        if is_backward:
            return shown_ids[index] if index >= 0 else None
        if index < len(shown_ids):
            return shown_ids[index]
        return _find_unpinned(workspace_ids, filters, None, pinned_ids, is_backward=False)
    cursor = _make_cursor(workspace_ids, filters, conversation)
    if cursor is None and is_backward:
        return None
    neighbor = _find_unpinned(workspace_ids, filters, cursor, pinned_ids, is_backward=is_backward)
    if neighbor is None and is_backward:
        return shown_ids[-1] if shown_ids else None
    return neighbor


def _find_unpinned(
    workspace_ids: Sequence[int],
    filters: ListFilters,
    cursor: Cursor | None,
    pinned_ids: Sequence[int],
    *,
    is_backward: bool,
) -> int | None:
    ranges = orderings.build_ranges(filters)
    limit = 1 + len(pinned_ids)
    page = find_nearest(ranges, workspace_ids, cursor, limit, is_backward=is_backward)
    keys = [ranked_key.conversation_id for ranked_key in page.ranked_keys]
    return next((key for key in keys if key not in pinned_ids), None)


def _make_cursor(
    workspace_ids: Sequence[int], filters: ListFilters, conversation: Conversation
) -> Cursor | None:
    """Return a conversation's place in the order, None where it has none."""
    if filters.sort == Sort.ACTIVITY:
        return Cursor(conversation.last_activity, conversation.pk)
    if filters.sort == Sort.LENGTH:
        return Cursor(conversation.entry_count, conversation.pk)
    ranges = [
        replace(index_range, rows=index_range.rows.filter(conversation_id=conversation.pk))
        for index_range in orderings.build_ranges(filters)
    ]
    page = find_nearest(ranges, workspace_ids, None, 1, is_backward=False)
    return page.ranked_keys[0].key if page.ranked_keys else None
