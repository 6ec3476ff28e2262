"""The sample workspace as a stage: its own tools, a model behind HTTP, people at the desk."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jpweb.runtime import configuration, runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store.choices import Role
from jpweb.store.models import Approval, Inquiry, JournalEntry, Run, Trust, Workspace
from jpweb.store.workspace_config import overrides
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import Cancelled, InquiryRequest, InquiryResponse
from tests.agent.providers.conversing import MODELS
from tests.machine.vendors import Standin
from tests.runtime.playing import Scene, done, eventually
from tests.store import making
from tests.store.making import decider

SAMPLE = Path(__file__).parents[2] / "samples" / "workshop"
#: Where the key of every stand-in is.
VARIABLE = "SCENARIO_KEY"
CANARY = "canary-9d41-passphrase"
#: What ``overrides`` hold beside the model: repeating takes no time, the kitchen stays closed.
USUAL = """
[assistant.request]
max_retries = 2
base_backoff_ms = 1
max_backoff_secs = 5
"""
CLOSED = "[conversation.tools.book_table]\nenable = false\n"


class Workshop(Scene):
    """A copy of the sample workspace, with an owner who trusts what it runs."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        shutil.copytree(SAMPLE, root)
        self.configure(lambda text: text.replace("../../../.venv/bin/python", sys.executable))
        Workspace.objects.filter(pk=self.home.pk).update(
            root=str(root), jp_id="works", copies_id="works"
        )
        self.home.refresh_from_db()
        self.olga = making.person("olga", Role.OWNER, self.home)

    def configure(self, change: Callable[[str], str]) -> None:
        """Change the text of the workspace's own configuration."""
        file = self.root / ".jp" / "config.toml"
        file.write_text(change(file.read_text()))

    def play(self, standin: Standin, more: str = CLOSED, model: str = "") -> None:
        """Let the stand-in play the turns, as an owner sets that up, and trust everything."""
        name = standin.name
        text = (
            f'[assistant.model]\nid = "{name}/{model or MODELS[name]}"\n{USUAL}\n{more}\n'
            f'[providers.llm.{name}]\nbase_url = "{standin.base_url}"\napi_key_env = "{VARIABLE}"\n'
        )
        configuration.save_overrides(self.home, text, overrides.hash_text(self.home.overrides))
        self.home.refresh_from_db()
        self.trust()

    def trust(self) -> None:
        """Trust everything as it is now."""
        things = [
            thing.item for thing in configuration.load_workspace_config(self.home).trust_statuses
        ]
        seen = [(each.kind.value, each.name, each.fingerprint) for each in things]
        configuration.grant_trust(self.home, seen, self.olga)

    def distrust(self, *names: str) -> None:
        """Trust what has these names no longer."""
        Trust.objects.filter(workspace=self.home, name__in=names).delete()

    async def asked(self, question_id: str) -> Inquiry:
        """Return the open question of this id, once its call waits for it."""

        async def found() -> Inquiry | None:
            rows = Inquiry.objects.filter(conversation=self.talk, state="open")
            for row in await run_in_db_thread(list, rows):
                if (
                    f".{question_id}." in row.inquiry_id
                    and row.pk in resolution.settlement_waiters.waiters_by_key
                ):
                    return row
            return None

        row: Inquiry = await eventually(found)
        return row

    async def answer(self, question_id: str, typed: str) -> None:
        """Wait for a question and answer it."""
        await resolution.answer_inquiry(
            (await self.asked(question_id)).pk, typed, decider(self.eve)
        )

    async def prompted(self) -> Approval:
        """Return the prompt that waits, once there is one."""
        open_ones = Approval.objects.filter(run__conversation=self.talk, state="open")
        row: Approval = await eventually(lambda: run_in_db_thread(open_ones.first))
        return row

    async def retry(self) -> Run:
        """Go on with the turn that failed, to its end; return the row."""
        run = await runs.retry_turn(self.talk, self.ada)
        task = run_executor._active_runs[run.pk].task
        assert task is not None
        await done(task)
        return await self.row(run)

    async def played(self, text: str = "Begin") -> Run:
        """Let a run end by itself; return its row."""
        run, task = await self.start(text)
        await done(task)
        return await self.row(run)

    async def row(self, run: Run) -> Run:
        return await run_in_db_thread(Run.objects.get, pk=run.pk)

    async def events(self) -> list[ConversationEvent]:
        """Return the stream, event by event; nothing in it may be unreadable."""
        bodies = [element.body for element in await self.elements()]
        events = [body for body in bodies if isinstance(body, ConversationEvent)]
        assert len(events) == len(bodies)
        return events

    async def told(self) -> list[str]:
        """Return the stream in short, a line an event."""
        return [short(event) for event in await self.events()]

    async def results(self) -> list[ToolCallResponse]:
        kinds = [event.kind for event in await self.events()]
        return [kind for kind in kinds if isinstance(kind, ToolCallResponse)]

    async def everything(self) -> str:
        """Return every row that the database keeps of the conversation, prompts included."""

        def read() -> str:
            kept: Sequence[Any] = [JournalEntry, Inquiry, Approval, Run, Trust, Workspace]
            return repr([list(model.objects.values_list()) for model in kept])

        return await run_in_db_thread(read)


def short(event: ConversationEvent) -> str:
    """Return what matters of an event: its kind, whose, and how it ended."""
    match event.kind:
        case ChatRequest(content=content):
            line = f"asked: {content}"
        case ChatResponse(variant, content):
            line = f"{variant}: {content}"
        case ToolCallRequest(id_, name):
            line = f"call {id_} {name}"
        case ToolCallResponse(id_, _, failed):
            line = f"{'failed' if failed else 'result'} {id_}"
        case InquiryRequest(id_):
            line = f"ask {id_}"
        case InquiryResponse(id_, outcome):
            end = outcome.reason.tag if isinstance(outcome, Cancelled) else outcome.TAG
            line = f"{end} {id_} {event.note['by']['kind']}"
        case other:
            line = other.TAG
    return line


def processes(mark: str) -> dict[int, tuple[str, str]]:
    """Return the processes whose arguments hold the mark, with these and their environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            argv = (folder / "cmdline").read_bytes().decode(errors="replace")
            if mark in argv and int(folder.name) != os.getpid():
                environ = (folder / "environ").read_bytes().decode(errors="replace")
                found[int(folder.name)] = argv, environ
    return found


def alive(pid: int) -> bool:
    """Tell whether a process is there and not a mere entry that waits to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
