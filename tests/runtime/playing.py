"""A stage for the desk and the runs, and people who answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from jpweb.runtime import runs
from jpweb.runtime.broadcast import local_bus
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store import conversations, inquiries, journal
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Run
from jpweb.stream.events import Element
from tests.store import making

SOON = 10


class Scene:
    """A conversation, two people who may answer, and the questions of a run."""

    def __init__(self) -> None:
        self.workspace = making.workspace()
        self.ada = making.person("ada", Role.RESPONDER, self.workspace)
        self.eve = making.person("eve", Role.RESPONDER, self.workspace)
        self.conversation: Conversation = making.conversation(self.workspace, "A talk", self.ada)

    async def question(self, *args: Any) -> Inquiry:
        """Return an open question of a run that no process executes."""

        def ask() -> Inquiry:
            run = Run.objects.filter(conversation=self.conversation).first()
            return making.question(run or making.start_run(self.conversation, self.ada), *args)

        return await run_in_db_thread(ask)

    async def elements(self) -> tuple[Element, ...]:
        return await run_in_db_thread(journal.read_elements, self.conversation.pk)

    async def get_question(self) -> Any:
        """Return the one question that waits, once there is one and its call waits for it."""

        async def find_open() -> Inquiry | None:
            row = await run_in_db_thread(
                Inquiry.objects.filter(conversation=self.conversation, state="open").first
            )
            is_waiting = row is not None and row.pk in resolution.settlement_waiters.waiters_by_key
            return row if is_waiting else None

        return await eventually(find_open)

    async def start(self, text: str = "Begin") -> tuple[Run, asyncio.Task[None]]:
        run = await runs.start_turn(self.conversation, self.ada, text)
        task = run_executor._active_runs[run.pk].task
        assert task is not None
        return run, task

    async def resume(self, run: Run) -> asyncio.Task[None]:
        """Let this process take up what nobody executes; return the task that executes the run."""
        await run_executor.check_and_recover()

        async def find_task() -> asyncio.Task[None] | None:
            active = run_executor._active_runs.get(run.pk)
            return None if active is None else active.task

        task: asyncio.Task[None] = await eventually(find_task)
        return task

    async def reload(self, row: Inquiry) -> Inquiry:
        return await run_in_db_thread(inquiries.get_inquiry, row.pk)

    async def texts(self) -> str:
        """Return everything that the database keeps of the conversation."""

        def read() -> str:
            rows: list[Any] = list(JournalEntry.objects.values_list())
            rows += Inquiry.objects.values_list()
            rows += [
                conversations.get_conversation(self.conversation.pk).title,
                *Run.objects.values_list(),
            ]
            return repr(rows)

        return await run_in_db_thread(read)


async def eventually(look: Callable[[], Awaitable[Any]]) -> Any:
    """Return the first thing that is found. Raises TimeoutError."""
    async with asyncio.timeout(SOON):
        while not (result := await look()):  # noqa: ASYNC110  # it is looked for in the database
            await asyncio.sleep(0.02)
        return result


async def wait_for_task(task: asyncio.Task[Any]) -> Any:
    return await asyncio.wait_for(task, SOON)


async def cut_off(task: asyncio.Task[None]) -> None:
    """End a process as a kill does: it tells nobody."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def start_waiting(row: Inquiry, call: Callable[[Inquiry], Any]) -> asyncio.Task[Any]:
    """Start a call that waits for a row; return once it does."""
    task = asyncio.create_task(call(row))

    async def is_waiting() -> bool:
        return task.done() or row.pk in resolution.settlement_waiters.waiters_by_key

    await eventually(is_waiting)
    return task


class SignalQueue:
    """Keeps what is told to a topic, without its name."""

    def __init__(self) -> None:
        self._signals: list[dict[str, Any]] = []

    def on_signal(self, signal: dict[str, Any]) -> None:
        self._signals.append({name: value for name, value in signal.items() if name != "to"})

    async def __call__(self) -> dict[str, Any]:
        """Return the next signal, waiting for it. Raises TimeoutError."""
        async with asyncio.timeout(SOON):
            while not self._signals:  # noqa: ASYNC110  it is told by another thread's loop
                await asyncio.sleep(0.001)
            return self._signals.pop(0)

    def take_all(self) -> list[dict[str, Any]]:
        """Return and forget all signals so far: who announces returns after they are here."""
        signals, self._signals = self._signals, []
        return signals


@asynccontextmanager
async def subscribe(topic: str) -> AsyncIterator[SignalQueue]:
    """Hear what is announced to a topic."""
    listening = SignalQueue()
    local_bus.add_subscriber(topic, listening.on_signal)
    try:
        yield listening
    finally:
        local_bus.remove_subscriber(topic, listening.on_signal)
