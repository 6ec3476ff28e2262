"""``python -m tests.browser.asking.seeding``: begins and ends runs that no process executes.

Runs in a process of its own, on the data of the server that is tested. Each line of its input is
JSON: a list of prompts begins a run in which they wait, and the keys of the run and of its
conversation are printed; a number ends the run of that key.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
django.setup()

from django.db import transaction  # noqa: E402  needs Django set up

from jpweb.store import accounts, approvals, conversations, runs  # noqa: E402  needs Django set up
from jpweb.store.choices import ApprovalKind, RunState  # noqa: E402  needs Django set up
from jpweb.store.models import Run, Workspace  # noqa: E402  needs Django set up
from jpweb.store.run_queue import leases  # noqa: E402  needs Django set up
from jpweb.stream.inquiry import CancellationReason  # noqa: E402  needs Django set up


def begin_run(prompts: list[tuple[str, dict[str, Any]]]) -> list[int]:
    owner, workspace = accounts.get_or_create_owner(), Workspace.objects.get(name="Demo")
    conversation = conversations.create_conversation(workspace, "Seeded", owner.pk)
    with transaction.atomic():
        run = leases.acquire_lease(
            runs.start_run(conversation.pk, owner.pk, "scripted").pk, "elsewhere", 3600
        )
    assert run is not None
    for number, (kind, fields) in enumerate(prompts):
        details = {"edit": False} | fields
        approvals.request_approval(
            conversation.pk, ApprovalKind(kind), f"call_{number}", "vault", details
        )
    return [run.pk, conversation.pk]


def end_run(key: int) -> list[int]:
    runs.fail_run(Run.objects.get(pk=key), CancellationReason.LOST, RunState.STOPPED)
    return []


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        print(
            json.dumps(end_run(message) if isinstance(message, int) else begin_run(message)),
            flush=True,
        )


if __name__ == "__main__":
    main()
