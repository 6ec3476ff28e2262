"""A web server beside workers, in this process and without its port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jpweb.cli import daphne_server
from jpweb.cli.management.commands import serve
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.periodic import scheduler
from jpweb.runtime.periodic.scheduler import LeaderScheduler
from jpweb.store.maintenance import task_leases
from tests.runtime.playing import cut_off, eventually
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


def restore(file: Path) -> str:
    """Restore a backup; return why that is refused."""
    with pytest.raises(CommandError) as refusal:
        call_command("restore", str(file), "--force")
    return str(refusal.value)


def test_restore_is_refused_while_a_web_server_beside_workers_runs(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Such a server has no lock on the data folder, and leads no periodic task."""
    settings.RUN_MODE, settings.DATA_DIR = "workers", tmp_path
    making.person("ada")
    call_command("backup", str(tmp_path / "file"), verbosity=0)
    refusals: list[str] = []

    async def serve_until_refused(
        work: Iterable[Coroutine[Any, Any, None]], on_stop: Callable[[], Awaitable[None]]
    ) -> None:
        tasks = [asyncio.create_task(coroutine) for coroutine in work]
        await eventually(partial(run_in_db_thread, task_leases.is_any_held))
        refusals.append(await run_in_background_thread(restore, tmp_path / "file"))
        await on_stop()
        for task in tasks:
            await cut_off(task)

    monkeypatch.setattr(
        scheduler, "_server_scheduler", LeaderScheduler("here", (scheduler.OWN_LEASE,))
    )
    monkeypatch.setattr(run_executor, "_shutdown_event", asyncio.Event())  # other tests go on
    monkeypatch.setattr(serve.Command, "_prepare_data", lambda *_arguments: None)
    monkeypatch.setattr(daphne_server, "check_port", lambda _port: None)
    monkeypatch.setattr(daphne_server, "exit_process", lambda: None)
    monkeypatch.setattr(
        daphne_server,
        "run_server",
        lambda _application, _port, _on_ready, work, on_stop: asyncio.run(
            serve_until_refused(work, on_stop)
        ),
    )
    call_command("serve")
    assert [refusal[:35] for refusal in refusals] == ["jpweb is running on this database. "]
    assert not task_leases.is_any_held()
