"""Processes on a wire that does as it is told, instead of a Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries.secret_channels import SecretChannel
from jpweb.runtime.inquiries.secret_handover import SecretHandover
from jpweb.store import inquiries
from jpweb.store.choices import RunState
from jpweb.store.models import Inquiry, Run
from tests.runtime.playing import Scene, eventually

CANARY = "canary-7f3a-Zürich"
WEB, WORKER = "web#1", "worker#1"


class Wire:
    """Carries what processes send one another; notes it, and does as it is told.

    ``does``: called with each message, returns those that arrive in its place.
    """

    def __init__(self) -> None:
        self.couriers: dict[str, SecretChannel] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.woken: list[int] = []
        self.does: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda data: [data]
        self.wakes: Callable[[int], None] = lambda _: None

    def process(self, name: str) -> SecretChannel:
        self.couriers[name] = SecretChannel(SecretHandover(), self, lambda: name)
        return self.couriers[name]

    async def send_to_process(self, process_name: str, kind: str, **data: Any) -> None:
        self.sent.append((process_name, data))
        for each in self.does({"kind": kind, **data}):
            if process_name in self.couriers:
                self.hand(process_name, each)

    def hand(self, name: str, data: dict[str, Any]) -> None:
        courier = self.couriers[name]
        {"secret": courier.on_secret, "secret_ack": courier.on_acknowledgement}[data["kind"]](data)

    async def publish_run_changed(self, run_id: int) -> None:
        self.woken.append(run_id)
        self.wakes(run_id)

    def secrets(self) -> list[dict[str, Any]]:
        return [data for _, data in self.sent if "sealed" in data]

    def became(self) -> list[str]:
        return [data["result"] for _, data in self.sent if "result" in data]


class Looks:
    """Counts how often a question's row is looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._real = inquiries.get_inquiry
        monkeypatch.setattr(inquiries, "get_inquiry", self._get)

    async def wait(self, more: int = 5) -> None:
        """Return after so many looks more."""
        until = self.count + more

        async def reached() -> bool:
            return self.count >= until

        await eventually(reached)

    def _get(self, key: int) -> Inquiry:
        self.count += 1
        return self._real(key)


def run_of(row: Inquiry) -> int:
    assert row.run_id is not None
    return row.run_id


async def parked(row: Inquiry) -> None:
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.PARKED)


async def expecting(courier: SecretChannel, row: Inquiry) -> None:
    async with courier.expecting(row):
        await asyncio.Event().wait()


async def named(scene: Scene, row: Inquiry, process: str) -> bool:
    return (await scene.reload(row)).waiter == process


async def found(found: Any) -> bool:
    return bool(found)
