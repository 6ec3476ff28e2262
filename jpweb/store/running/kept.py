"""What tool calls have come to before their responses are in the journal.

The responses of a cycle's calls are recorded together; a process that ends, or puts its run down,
in between would run the finished calls again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from jpweb.store import plain
from jpweb.store.models import KeptResult, Run
from jpweb.store.running import leases


@transaction.atomic
def keep(run: Run, tool_call_id: str, values: Mapping[str, Any]) -> None:
    """Hold what a call has come to; replaces what was held of it. Raises NotHolder.

    ``values``: content, is_error, edited, delivered, again, as the columns.
    """
    leases.guard(run)
    KeptResult.objects.update_or_create(
        run=run, tool_call_id=plain.text(tool_call_id), defaults=plain.deep(dict(values))
    )


def of(run: Run) -> dict[str, KeptResult]:
    """Return what is held, by tool call id."""
    return {row.tool_call_id: row for row in KeptResult.objects.filter(run=run)}


def forget(run: Run) -> None:
    """Throw away what is held."""
    KeptResult.objects.filter(run=run).delete()
