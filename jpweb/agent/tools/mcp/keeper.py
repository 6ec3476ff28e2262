"""One MCP server, for as long as it is needed."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.redaction import SecretAnswer, after_cut, without
from jpweb.agent.tools.mcp.overlay import Listed
from jpweb.agent.tools.mcp.reasons import first, kept, line

if TYPE_CHECKING:
    from jpweb.agent.tools.mcp.client import Session

#: How much of what a server complained of is read, in bytes, and repeated: its end.
_READ, _REPEATED = 65536, 1000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is connected, and what it offers. ``hidden`` is what it was given in trust."""

    session: Session
    tools: Mapping[str, Listed]
    hidden: tuple[SecretAnswer, ...] = field(default=(), repr=False)


class Keeper:
    """Holds a server in a task of its own: what the SDK opens, one task must enter and leave.

    ``problem`` is for models and the journal, in our own words. What the server itself complains
    of is for who runs jpweb, and goes to the log.
    """

    def __init__(self, wanted: McpServer, folder: Path, leave: asyncio.Event) -> None:
        self.name = wanted.name
        self.server: Server | None = None
        self.problem = ""
        self._wanted = wanted
        self._folder = folder
        self._leave = leave
        self._ready = asyncio.Event()
        self._complaints = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  closed by gone()
        self._task = asyncio.create_task(self._keep(), name=f"mcp {wanted.name}")

    async def started(self, seconds: float) -> None:
        """Wait until the server is there, or has a problem."""
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {self._task, ready}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ready.cancel()
        if self.server is None:
            self.problem = f"it did not answer within {seconds:g} seconds"
            self.give_up()
            await self.gone()

    def give_up(self) -> None:
        """End a server that is not there yet."""
        if self.server is None:
            self._task.cancel()

    async def gone(self) -> None:
        """Wait until the server has ended; one that never was there has its problem then."""
        await asyncio.wait({self._task})
        if self._complaints.closed:
            return
        with self._complaints:
            error = None if self._task.cancelled() else self._task.exception()
            if self.server is None and (error is not None or self.problem):
                self._explain(error)

    def _explain(self, error: BaseException | None) -> None:
        from jpweb.agent.tools.mcp import client  # noqa: PLC0415  the SDK takes most of a second

        hidden = kept(self._wanted)
        said = ""
        if error is not None:
            self.problem = client.told(error)
            # pydantic repeats pieces of what it read, and a piece of a key is not found
            said = "" if isinstance(first(error), ValueError) else line(str(first(error)), hidden)
        complaint = " ".join(self._complained(hidden).split())
        parts = dict.fromkeys((self.problem, said, without(hidden, complaint)[-_REPEATED:]))
        _log.warning(
            "MCP server %s is not available: %s", self.name, "; ".join(filter(None, parts))
        )

    def _complained(self, hidden: tuple[SecretAnswer, ...]) -> str:
        """Return the end of what the server said on stderr, without what is hidden."""
        with os.fdopen(os.dup(self._complaints.fileno()), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _READ))
            end = file.read().decode(errors="replace")
        if size > _READ:
            end = after_cut(hidden, end.lstrip("\N{REPLACEMENT CHARACTER}"))
        return without(hidden, end)

    async def _keep(self) -> None:
        async with self._open() as session:
            self.server = Server(session, await session.tools(), kept(self._wanted))
            self._ready.set()
            await self._leave.wait()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Session]:
        from jpweb.agent.tools.mcp import client  # noqa: PLC0415  the SDK takes most of a second

        wanted = self._wanted
        if wanted.url is not None:
            async with client.http(wanted.url, wanted.headers) as session:
                yield session
            return
        program = await asyncio.to_thread(_program, wanted, self._folder)
        variables = {name: os.environ[name] for name in wanted.variables if name in os.environ}
        async with client.stdio(
            program, wanted, variables, self._folder, self._complaints
        ) as session:
            yield session


def _program(wanted: McpServer, folder: Path) -> str:
    """Return the program's file, the checksum being right. Raises ToolUnavailable."""
    command = wanted.command or ""
    named = str(folder / command) if "/" in command else command
    found = shutil.which(named)
    if found is None:
        raise ToolUnavailable(f"there is no program {command or 'in its configuration'}")
    if wanted.checksum is None:
        return found
    with Path(found).open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != wanted.checksum.lower():
        raise ToolUnavailable(
            f"the SHA-256 of {found} is {actual}, and the configuration allows only "
            f"{wanted.checksum.lower()}"
        )
    return found
