"""Transport to an MCP server that is a command: a message is a line of its standard output.

The SDK's ``stdio_client`` has no limit for a line, and takes quadratic time for a long one.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage

from jpweb.agent.tools.mcp import message_limit
from jpweb.agent.tools.mcp.message_limit import MessagePace, MessageTooLong, ValueCounter
from jpweb.agent.tools.mcp.message_parser import MessageParser

_READ_BYTES = 65_536
#: Seconds for messages that are being written, and for the server's end: after its input is closed,
#: after SIGTERM, and after SIGKILL.
_FLUSH_SECONDS, _EXIT_SECONDS = 0.5, 2.0
_EXIT_POLL_SECONDS = 0.01
#: The rate of what is read and discarded, for a server that would not end otherwise.
_DISCARDED_BYTES_PER_SECOND = 32 * 2**20

ReceivedMessage = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[ReceivedMessage], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def run_command(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    errors: OutputEnd,
    note_limit: Callable[[str], None],
) -> AsyncIterator[Streams]:
    """Run a server in a process group of its own, for the block; yield its messages.

    A line over the limit ends it: ``note_limit`` is called, then the messages end.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _PipeProtocol(limit=_READ_BYTES, loop=loop),
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=get_default_environment() | dict(variables),
        cwd=folder,
        start_new_session=True,
    )
    server = _Server(Process(transport, protocol, loop), errors, note_limit)
    async with anyio.create_task_group() as group:
        group.start_soon(server.read_messages)
        group.start_soon(server.write_messages)
        group.start_soon(server.read_errors)
        try:
            yield server.received, server.to_send
        finally:
            with anyio.CancelScope(shield=True):
                await server.end()
                transport.close()  # closes the pipes, also those that a child holds open
            group.cancel_scope.cancel()


class _PipeProtocol(SubprocessStreamProtocol):
    """Ends a wait for a broken input without an error.

    asyncio keeps that error for ``wait_closed`` too. Python 3.11.2 (Debian 12) logs its traceback
    where nobody waits for that.
    """

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        super().pipe_connection_lost(fd, None if fd == 0 else exc)


class _Server:
    """The process, and the streams between its pipes and the SDK's session."""

    def __init__(
        self, process: Process, errors: OutputEnd, note_limit: Callable[[str], None]
    ) -> None:
        self._process = process
        self._errors = errors
        # All are pipes, by the arguments that started the process.
        self._stdin = cast("asyncio.StreamWriter", process.stdin)
        self._stdout = cast("asyncio.StreamReader", process.stdout)
        self._stderr = cast("asyncio.StreamReader", process.stderr)
        self._note_limit = note_limit
        self._pace, self._error_pace = MessagePace(), MessagePace()
        self._parser = MessageParser()
        self._writer_done = anyio.Event()
        self._errors_done = anyio.Event()
        self._session_ended = anyio.Event()
        self._delivery, self.received = anyio.create_memory_object_stream[ReceivedMessage](0)
        self.to_send, self._outbox = anyio.create_memory_object_stream[SessionMessage](0)

    async def read_messages(self) -> None:
        """Deliver the messages until the session or the server ends, then discard the rest."""
        async with self._delivery:
            try:
                async for line in _read_lines(self._stdout):
                    message = self._parser.parse_line(line.data)
                    if message is not None:
                        await self._delivery.send(message)
                    cost = message_limit.measure_cost(message)
                    await self._pause(self._pace.count_received(cost, len(line.data), line.values))
                    if self._session_ended.is_set():
                        break
            except MessageTooLong as error:
                self._note_limit(str(error))
                self._delivery.close()
                await self._terminate()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
                pass  # the session has ended, or the pipe
        # A server that is blocked by a full pipe could not end by itself.
        with suppress(ConnectionError):
            while chunk := await self._stdout.read(_READ_BYTES):  # noqa: ASYNC110  a rate, no event
                await anyio.sleep(len(chunk) / _DISCARDED_BYTES_PER_SECOND)

    async def _pause(self, seconds: float) -> None:
        """Read nothing for so long, unless the session ends: the pipe holds the server back."""
        if seconds > 0:
            with anyio.move_on_after(seconds):
                await self._session_ended.wait()

    async def read_errors(self) -> None:
        """Keep the end of the server's stderr; beyond the rate the pipe holds the server back."""
        with suppress(ConnectionError):
            while chunk := await self._stderr.read(_READ_BYTES):
                self._errors.append(chunk)
                await self._pause(self._error_pace.count_received(0, len(chunk)))
                if self._session_ended.is_set():
                    await anyio.sleep(len(chunk) / _DISCARDED_BYTES_PER_SECOND)
        self._errors_done.set()

    async def write_messages(self) -> None:
        """Write the session's messages, each as a line, until either side ends."""
        try:
            async with self._outbox:
                async for outgoing in self._outbox:
                    self._parser.note_sent(outgoing)
                    text = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._stdin.write(f"{text}\n".encode())
                    await self._stdin.drain()
                    if self._stdin.is_closing():
                        raise BrokenPipeError
        except OSError:
            # The server may live on: without an end of the messages, a call would wait for ever.
            await self._delivery.aclose()
        finally:
            self._writer_done.set()

    async def end(self) -> None:
        """Close the server's input; end its process group where it does not end by itself."""
        self._session_ended.set()
        self.received.close()
        self.to_send.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._writer_done.wait()
        self._stdin.close()
        if not await self._wait_exit():
            await self._terminate()
            await self._wait_exit()
        with anyio.move_on_after(_FLUSH_SECONDS):  # a child may hold the pipe open
            await self._errors_done.wait()

    async def _terminate(self) -> None:
        await terminate_posix_process_tree(self._process, _EXIT_SECONDS)  # type: ignore[arg-type]  # it takes anyio's wrapper, and reads pid and returncode

    async def _wait_exit(self) -> bool:
        """Return whether the process has ended in time.

        ``Process.wait`` also waits for the pipes, which a child of the server may hold open.
        """
        with anyio.move_on_after(_EXIT_SECONDS):
            while self._process.returncode is None:  # noqa: ASYNC110  asyncio has no such event
                await anyio.sleep(_EXIT_POLL_SECONDS)
        return self._process.returncode is not None


class OutputEnd:
    """The end of a server's stderr; ``is_cut`` where there was more before it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self.is_cut = False

    def append(self, chunk: bytes) -> None:
        """Add what the server wrote next."""
        self._buffer += chunk
        self.is_cut |= len(self._buffer) > self._max_bytes
        del self._buffer[: -self._max_bytes]

    def decode(self) -> str:
        """Return the text; bytes that are no character are replaced."""
        return self._buffer.decode(errors="replace")


class _Line(NamedTuple):
    data: bytes
    values: int


async def _read_lines(stdout: asyncio.StreamReader) -> AsyncIterator[_Line]:
    """Yield the lines; one without an end is none. Raises MessageTooLong."""
    buffer, counter = bytearray(), ValueCounter()
    while chunk := await stdout.read(_READ_BYTES):
        for number, piece in enumerate(chunk.split(b"\n")):
            if number > 0:
                yield _Line(bytes(buffer), counter.take_count())
                buffer.clear()
            buffer += piece
            counter.feed(piece)
            if len(buffer) > message_limit.MAX_MESSAGE_BYTES:
                raise MessageTooLong(message_limit.describe_limit())
            if counter.count > message_limit.MAX_MESSAGE_VALUES:
                raise MessageTooLong(message_limit.describe_value_limit())
