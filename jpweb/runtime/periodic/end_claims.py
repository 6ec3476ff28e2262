"""Ends claims and snoozes of questions at their time, and tells the open pages."""

from __future__ import annotations

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.store.inbox import claims, snoozes


async def end_claims_and_snoozes() -> int:
    """Delete the claims and snoozes that have ended; return the number of workspaces notified."""
    workspace_ids = await run_in_background_thread(_delete_ended)
    for workspace_id in sorted(workspace_ids):
        await publisher.publish_questions_changed(workspace_id)
    return len(workspace_ids)


def _delete_ended() -> set[int]:
    return claims.delete_ended() | snoozes.delete_ended()
