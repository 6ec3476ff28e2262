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
from tests.runtime.playing import Scene, eventually, wait_for_task
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
        Workspace.objects.filter(pk=self.workspace.pk).update(
            root=str(root), jp_id="works", copies_id="works"
        )
        self.workspace.refresh_from_db()
        self.olga = making.person("olga", Role.OWNER, self.workspace)

    def configure(self, change: Callable[[str], str]) -> None:
        """Change the text of the workspace's own configuration."""
        file = self.root / ".jp" / "config.toml"
        file.write_text(change(file.read_text()))

    def play(self, standin: Standin, toml: str = CLOSED, model: str = "") -> None:
        """Let the stand-in play the turns, as an owner sets that up, and trust everything."""
        name = standin.name
        text = (
            f'[assistant.model]\nid = "{name}/{model or MODELS[name]}"\n{USUAL}\n{toml}\n'
            f'[providers.llm.{name}]\nbase_url = "{standin.base_url}"\napi_key_env = "{VARIABLE}"\n'
        )
        configuration.save_overrides(
            self.workspace, text, overrides.hash_text(self.workspace.overrides)
        )
        self.workspace.refresh_from_db()
        self.trust()

    def trust(self) -> None:
        """Trust everything as it is now."""
        things = [
            thing.item
            for thing in configuration.load_workspace_config(self.workspace).trust_statuses
        ]
        trust_keys = [(item.kind.value, item.name, item.fingerprint) for item in things]
        configuration.grant_trust(self.workspace, trust_keys, self.olga)

    def distrust(self, *names: str) -> None:
        """Trust what has these names no longer."""
        Trust.objects.filter(workspace=self.workspace, name__in=names).delete()

    async def get_question_by_id(self, question_id: str) -> Inquiry:
        """Return the open question of this id, once its call waits for it."""

        async def find_inquiry() -> Inquiry | None:
            rows = Inquiry.objects.filter(conversation=self.conversation, state="open")
            for row in await run_in_db_thread(list, rows):
                if (
                    f".{question_id}." in row.inquiry_id
                    and row.pk in resolution.settlement_waiters.waiters_by_key
                ):
                    return row
            return None

        row: Inquiry = await eventually(find_inquiry)
        return row

    async def answer(self, question_id: str, answer_text: str) -> None:
        """Wait for a question and answer it."""
        await resolution.answer_inquiry(
            (await self.get_question_by_id(question_id)).pk, answer_text, decider(self.eve)
        )

    async def prompted(self) -> Approval:
        """Return the prompt that waits, once there is one."""
        open_ones = Approval.objects.filter(run__conversation=self.conversation, state="open")
        row: Approval = await eventually(lambda: run_in_db_thread(open_ones.first))
        return row

    async def retry(self) -> Run:
        """Go on with the turn that failed, to its end; return the row."""
        run = await runs.retry_turn(self.conversation, self.ada)
        task = run_executor._active_runs[run.pk].task
        assert task is not None
        await wait_for_task(task)
        return await self.row(run)

    async def play_turn(self, text: str = "Begin") -> Run:
        """Let a run end by itself; return its row."""
        run, task = await self.start(text)
        await wait_for_task(task)
        return await self.row(run)

    async def row(self, run: Run) -> Run:
        return await run_in_db_thread(Run.objects.get, pk=run.pk)

    async def events(self) -> list[ConversationEvent]:
        """Return the stream, event by event; nothing in it may be unreadable."""
        bodies = [element.body for element in await self.elements()]
        events = [body for body in bodies if isinstance(body, ConversationEvent)]
        assert len(events) == len(bodies)
        return events

    async def list_lines(self) -> list[str]:
        """Return the stream in short, a line an event."""
        return [short(event) for event in await self.events()]

    async def results(self) -> list[ToolCallResponse]:
        kinds = [event.kind for event in await self.events()]
        return [kind for kind in kinds if isinstance(kind, ToolCallResponse)]

    async def dump_rows(self) -> str:
        """Return every row that the database keeps of the conversation, prompts included."""

        def read() -> str:
            models: Sequence[Any] = [JournalEntry, Inquiry, Approval, Run, Trust, Workspace]
            return repr([list(model.objects.values_list()) for model in models])

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
        case ToolCallResponse(id_, _, is_error):
            line = f"{'failed' if is_error else 'result'} {id_}"
        case InquiryRequest(id_):
            line = f"ask {id_}"
        case InquiryResponse(id_, outcome):
            end = outcome.reason.tag if isinstance(outcome, Cancelled) else outcome.TAG
            line = f"{end} {id_} {event.note['by']['kind']}"
        case kind:
            line = kind.TAG
    return line


def list_processes(mark: str, folder_of_shop: Path) -> dict[int, tuple[str, str]]:
    """Return arguments and environment of the shop's processes whose arguments hold the mark.

    Another run of the tests may have the same tools; its processes work in another folder.
    """
    by_pid = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            argv = (folder / "cmdline").read_bytes().decode(errors="replace")
            is_in_shop = (folder / "cwd").resolve().is_relative_to(folder_of_shop.resolve())
            if mark in argv and is_in_shop and int(folder.name) != os.getpid():
                environ = (folder / "environ").read_bytes().decode(errors="replace")
                by_pid[int(folder.name)] = argv, environ
    return by_pid


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and not a mere entry that waits to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
