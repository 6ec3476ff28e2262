"""Reader pool: processes that parse conversations ahead of the one that writes them.

A reader's standard input is a socket on which it receives folders and returns parsed
conversations. It ends when the other end is closed, so none outlives its parent,
however that ends; and it has a process group of its own, so that Ctrl-C reaches the
parent alone.

Reading is half of an import's processor time: 0.77 of 1.52 s for 15 MB. Sending the result costs
0.07 s. ``ProcessPoolExecutor`` would cost as much, 0.09 s, but its processes outlive a killed
parent, import from its ``sys.path`` and cannot be killed where one hangs.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from jpweb.installation import build_import_path
from jpweb.store.jp_files import reader, workspace
from jpweb.store.jp_files.reader import ParsedConversation
from jpweb.store.jp_files.workspace import DiskConversation

#: Elements that one pass parses in this process; the streams after them are worth a process, which
#: starts in 0.13 s. Each takes 10 µs at least: a file of 480 kB of the smallest, of two bytes, kept
#: the threads that serve people from Python's lock for 2.3 s. jp's largest file at hand, of 1.6 MB,
#: has 692, which take 0.03 s.
MAX_OWN_ELEMENTS = 20_000
#: Bytes of streams from which processes parse from the start: about a second of reading.
MIN_POOL_BYTES = 32 * 1024 * 1024
#: Conversations, bytes and elements of streams that are read before one transaction writes them
#: all: it blocks other writers for 0.02 s.
MAX_SMALL_FOLDERS, MAX_SMALL_BYTES, MAX_SMALL_ELEMENTS = 20, 2 * 1024 * 1024, 2000
#: Reader processes: the one writer of the database does not keep up with more.
MAX_PROCESSES = 2
#: Queue length of a process (prefetch), so that it never waits for a job. It holds one result until
#: that is received (backpressure), so memory does not grow with the number of files.
FOLDERS_PER_PROCESS = 2
#: Niceness that a process adds to its parent's: processes that serve people have the processor
#: first.
NICENESS = 5
#: Seconds to wait for a process to end before it is killed.
SHUTDOWN_TIMEOUT_SECONDS = 2.0


class _ReadJob(msgspec.Struct, array_like=True):
    """The folders of a conversation to read; as bytes, since not all names are text."""

    folder: bytes
    metadata_folder: bytes
    fingerprint: str


_encode_message = msgspec.msgpack.Encoder().encode
_RESULT_DECODER = msgspec.msgpack.Decoder(ParsedConversation)
_JOB_DECODER = msgspec.msgpack.Decoder(_ReadJob)


@contextmanager
def read_ahead(
    folders: Sequence[DiskConversation],
    small_readings: Mapping[int, ParsedConversation] | None = None,
) -> Iterator[Iterator[ParsedConversation]]:
    """Yield the parsed conversations, in order; each is parsed shortly before it is needed.

    ``small_readings`` has all of them where ``read_small`` returned them. Folders of a process
    that died are parsed here.
    """
    if small_readings is not None:
        yield iter([small_readings[folder.jp_id] for folder in folders])
        return
    processes: list[_ReaderProcess] = []
    try:
        yield _collect_readings(folders, processes)
    finally:
        for process in processes:
            process.stop_process()


def read_small(folders: Sequence[DiskConversation]) -> dict[int, ParsedConversation] | None:
    """Return the parsed conversations by JP's id, None unless one transaction may write them."""
    if len(folders) > MAX_SMALL_FOLDERS:
        return None
    if sum(map(workspace.get_stream_size, folders)) > MAX_SMALL_BYTES:
        return None
    readings = list(_parse_here(folders, MAX_SMALL_ELEMENTS))
    if len(readings) < len(folders):
        return None
    return {folder.jp_id: reading for folder, reading in zip(folders, readings, strict=True)}


def _collect_readings(
    folders: Sequence[DiskConversation], processes: list[_ReaderProcess]
) -> Iterator[ParsedConversation]:
    """Yield the parsed conversations; the processes that it starts are added to ``processes``."""
    process_count, parsed_count = 1, 0
    if sum(map(workspace.get_stream_size, folders)) >= MIN_POOL_BYTES:
        process_count = _count_spare_processors(len(folders))
    else:
        for reading in _parse_here(folders, MAX_OWN_ELEMENTS):
            parsed_count += 1
            yield reading
    remaining_folders = folders[parsed_count:]
    with suppress(OSError):  # no further process possible: parse in this one
        processes.extend(_ReaderProcess() for _ in range(process_count if remaining_folders else 0))
    yield from _collect_results(remaining_folders, processes)


def _parse_here(
    folders: Sequence[DiskConversation], spare_elements: int
) -> Iterator[ParsedConversation]:
    """Yield the first conversations, of ``spare_elements`` together, parsed in this process."""
    for folder in folders:
        try:
            reading = reader.parse_conversation(folder, spare_elements)
        except reader.TooManyElements:
            return
        spare_elements -= 0 if reading.stream is None else len(reading.stream.stream_rows.entries)
        yield reading


def _count_spare_processors(folder_count: int) -> int:
    """Return the number of processes for much to read; this one writes their results."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    spare_processors = (len(affinity(0)) if affinity else os.cpu_count() or 1) - 1
    return max(min(spare_processors, MAX_PROCESSES, folder_count - 1), 1)


def _collect_results(
    folders: Sequence[DiskConversation], processes: list[_ReaderProcess]
) -> Iterator[ParsedConversation]:
    """Yield the conversations that processes parse; without processes they are parsed here."""
    remaining_folders = iter(folders)
    sent_jobs: deque[tuple[DiskConversation, _ReaderProcess]] = deque()

    def send_next(process: _ReaderProcess) -> None:
        for folder in remaining_folders:
            process.send_job(folder)
            sent_jobs.append((folder, process))
            return

    for process in processes * FOLDERS_PER_PROCESS:
        send_next(process)
    while sent_jobs:
        folder, process = sent_jobs.popleft()
        result = process.receive_result()
        send_next(process)
        yield result or reader.parse_conversation(folder)
    yield from map(reader.parse_conversation, remaining_folders)


class _ReaderProcess:
    """A reader process. One that died accepts jobs and returns no results."""

    def __init__(self) -> None:
        parent_end, child_end = Pipe()
        # With -P and this PYTHONPATH nothing is imported from the current directory.
        with child_end:
            self._process = subprocess.Popen(  # noqa: S603  this Python, this module
                [sys.executable, "-P", "-m", __name__],
                stdin=child_end.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,
                env=os.environ | {"PYTHONPATH": build_import_path()},
            )
        self._channel = parent_end

    def send_job(self, folder: DiskConversation) -> None:
        """Send a folder to the process."""
        paths = (os.fsencode(folder.folder), os.fsencode(folder.metadata_folder))
        job = _ReadJob(*paths, folder.fingerprint)
        with suppress(OSError):
            self._channel.send_bytes(_encode_message(job))

    def receive_result(self) -> ParsedConversation | None:
        """Return the result of the oldest job without one; None where the process died."""
        try:
            return _RESULT_DECODER.decode(self._channel.recv_bytes())
        except (OSError, EOFError):
            return None

    def stop_process(self) -> None:
        """Close the socket, and wait until the process has ended."""
        self._channel.close()
        try:
            self._process.wait(SHUTDOWN_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Serve read jobs until the parent closes the socket."""
    os.nice(NICENESS)
    gc.freeze()  # imported modules are never garbage: the collector skips them
    with Connection(0) as channel, suppress(EOFError, OSError):
        while True:
            job = _JOB_DECODER.decode(channel.recv_bytes())
            folder, metadata_folder = (
                Path(os.fsdecode(name)) for name in (job.folder, job.metadata_folder)
            )
            disk_conversation = DiskConversation(
                folder, metadata_folder, 0, is_archived=False, fingerprint=job.fingerprint
            )
            channel.send_bytes(_encode_message(reader.parse_conversation(disk_conversation)))


if __name__ == "__main__":
    main()
