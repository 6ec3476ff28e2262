"""Who can answer right now: people who have a page of this process open and may answer there."""

from __future__ import annotations

from collections.abc import Iterable

_pages: dict[str, frozenset[int]] = {}


def arrive(page: str, workspace_ids: Iterable[int]) -> None:
    """Note that an open page belongs to somebody who may answer in these workspaces."""
    _pages[page] = frozenset(workspace_ids)


def leave(page: str) -> None:
    """Note that a page is gone; does nothing for one that is not known."""
    _pages.pop(page, None)


def reachable(workspace_id: int) -> bool:
    """Tell whether somebody who may answer in the workspace has a page open."""
    return any(workspace_id in workspaces for workspaces in _pages.values())
