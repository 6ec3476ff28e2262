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


class ProcessWire:
    """Relays and records the messages between processes.

    ``replace_message`` is called with each message, and returns those that arrive in its place.
    """

    def __init__(self) -> None:
        self.couriers: dict[str, SecretChannel] = {}
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.woken: list[int] = []
        self.replace_message: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda data: [data]
        self.wakes: Callable[[int], None] = lambda _: None

    def process(self, name: str) -> SecretChannel:
        self.couriers[name] = SecretChannel(SecretHandover(), self, lambda: name)
        return self.couriers[name]

    async def send_to_process(self, process_name: str, kind: str, **data: Any) -> None:
        self.messages.append((process_name, data))
        for message in self.replace_message({"kind": kind, **data}):
            if process_name in self.couriers:
                self.hand(process_name, message)

    def hand(self, name: str, data: dict[str, Any]) -> None:
        courier = self.couriers[name]
        {"secret": courier.on_secret, "secret_ack": courier.on_acknowledgement}[data["kind"]](data)

    async def publish_run_changed(self, run_id: int) -> None:
        self.woken.append(run_id)
        self.wakes(run_id)

    def secrets(self) -> list[dict[str, Any]]:
        return [data for _, data in self.messages if "sealed" in data]

    def list_outcomes(self) -> list[str]:
        return [data["result"] for _, data in self.messages if "result" in data]


class Looks:
    """Counts how often a question's row is looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._real = inquiries.get_inquiry
        monkeypatch.setattr(inquiries, "get_inquiry", self._get)

    async def wait(self, extra_looks: int = 5) -> None:
        """Return after so many looks more."""
        until = self.count + extra_looks

        async def has_reached() -> bool:
            return self.count >= until

        await eventually(has_reached)

    def _get(self, key: int) -> Inquiry:
        self.count += 1
        return self._real(key)


def run_of(row: Inquiry) -> int:
    assert row.run_id is not None
    return row.run_id


async def wait_until_parked(row: Inquiry) -> None:
    await run_in_db_thread(Run.objects.filter(pk=run_of(row)).update, state=RunState.PARKED)


async def expect_secret(courier: SecretChannel, row: Inquiry) -> None:
    async with courier.expect_secret(row):
        await asyncio.Event().wait()


async def is_waiter(scene: Scene, row: Inquiry, process: str) -> bool:
    return (await scene.reload(row)).waiter == process


async def is_truthy(value: Any) -> bool:
    return bool(value)
