"""Checkpoints of tool calls: results before their responses are in the journal.

The responses of a cycle's calls are recorded together; a process that ends, or parks
its run, in between would run the finished calls again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from jpweb.store import db_text
from jpweb.store.models import CallCheckpoint, Run
from jpweb.store.run_queue import leases


@transaction.atomic
def save_checkpoint(run: Run, tool_call_id: str, values: Mapping[str, Any]) -> None:
    """Save the result of a call; replaces an earlier checkpoint. Raises LeaseLost.

    ``values``: content, is_error, edited, delivered, was_cut_off, policies, as the columns.
    """
    leases.assert_held(run)
    CallCheckpoint.objects.update_or_create(
        run=run,
        tool_call_id=db_text.clean_text(tool_call_id),
        defaults=db_text.clean_json(dict(values)),
    )


def get_checkpoints(run: Run) -> dict[str, CallCheckpoint]:
    """Return the checkpoints of a run, by tool call id."""
    return {row.tool_call_id: row for row in CallCheckpoint.objects.filter(run=run)}


def clear_checkpoints(run: Run) -> None:
    """Delete the checkpoints of a run."""
    CallCheckpoint.objects.filter(run=run).delete()
