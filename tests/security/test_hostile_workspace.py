"""A hostile workspace on a running server reaches nothing outside, and costs others little."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from jpweb.store.jp_files.row_writer import MAX_BATCH_ENTRIES
from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.machine.sizes import IS_PROOF, choose_size
from tests.machine.visiting import Visitor
from tests.security import hostile
from tests.security.effort import Effort
from tests.security.hostile_tools import (
    drip_replies,
    flood_messages,
    misuse_tools,
    refuse_private_channels,
)
from tests.security.neighbor import Neighbor
from tests.security.odd_events import (
    LAYERED,
    ODD,
    is_leak_masked,
    open_layered_conversation,
    open_odd_conversation,
    write_odd_conversations,
)
from tests.security.rows import find_conversation, find_workspace, query
from tests.security.witness import watch_folder
from tests.store.making import write_folder

#: KiB of address space that the server and the processes it starts get each.
MEMORY_KIB = 1024 * 1024
LIMIT = ("sh", "-c", 'ulimit -v "$0"; exec "$@"', str(MEMORY_KIB))
ROUNDS = choose_size(1, 30)
TINY_ELEMENTS = choose_size(6_000, 240_000)
#: The median of each page and of a write, in its quiet time. Three of three runs met it, with
#: two idle cores.
MAX_SLOWDOWN = 2.0
#: Seconds of another person's slowest request: 0.2 on two cores with a load of 13. A text that was
#: matched in quadratic time kept Python's lock for minutes.
MAX_REQUEST_SECONDS = 5.0
#: Rows that a transaction may change, with its own bookkeeping: others cannot write meanwhile.
MAX_CHANGED_ROWS = 2 * MAX_BATCH_ENTRIES
TINY = f"{hostile.FIRST + 900}-tiny"
#: A call that ends at once, without a question.
SHORT_TURN = '/call describe_tools {"tools": ["ask_user"]}'
#: Paths below ``.jp`` that become links, where each leads outside, and the status of a turn.
WRITE_TRAPS = (
    (".id", "id", 200),
    ("locks", "locks", 422),
    (f"locks/jp-c{hostile.FIRST}.lock", "lock", 422),
    (f"conversations/{hostile.GOOD}", "conversation", 422),
    (f"conversations/{hostile.GOOD}/events.json", "conversation/events.json", 422),
    (f"conversations/{hostile.GOOD}/metadata.json", "conversation/metadata.json", 200),
    (f"conversations/{hostile.GOOD}/base_config.json", "precious", 200),
    (f"conversations/{hostile.GOOD}/events.json.tmp", "precious", 200),
    (f"conversations/.jpweb-{hostile.FIRST}", "precious", 200),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace_folder = tmp_path / "workspace"
    (workspace_folder / ".jp" / "conversations").mkdir(parents=True)
    (workspace_folder / ".jp" / "config.d").mkdir()
    return workspace_folder


@pytest.fixture
def effort(tmp_path: Path) -> Effort:
    return Effort(tmp_path / "effort")


@pytest.fixture
def server(tmp_path: Path, root: Path, effort: Effort) -> Iterator[Server]:
    # glibc reserves 64 MiB of addresses for each thread's arena.
    settings = {"MALLOC_ARENA_MAX": "2", "JPWEB_PARK_AFTER_SECONDS": "1"} | effort.settings
    running_server = Server(tmp_path / "data", workspace=root, settings=settings, wrapper=LIMIT)
    try:
        yield running_server.start()
        assert not [line for line in running_server.log_text().splitlines() if "Traceback" in line]
    finally:
        running_server.close()


def open_tools(
    owner: Visitor, workspace_id: int, root: Path, outside_folder: Path, effort: Effort
) -> int:
    """Put one hostile configuration after the other in place, and open the page of its tools.

    The second time that a configuration is read, nothing of it is parsed.
    """
    open_count = 0
    for make in hostile.make_configurations(outside_folder).values():
        home_folder = root / ".jp"
        _clear(home_folder)
        make(home_folder)
        parser_counts = []
        for _ in range(2):
            reply = owner.get(f"/workspaces/{workspace_id}/tools")
            assert reply.status == 200
            parser_counts.append(effort.count_parsers())
            open_count += 1
        assert len(set(parser_counts)) == 1
    assert effort.count_parsers() > 0
    return open_count


def _clear(home: Path) -> None:
    for path in (home / "config.toml", home / "config.d", home / "linked"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (home / "config.d").mkdir()


def is_mirrored(server: Server) -> bool:
    """Tell whether the hostile conversations with events are whole, and searched for secrets."""
    rows = query(
        server,
        "SELECT source, entry_count FROM store_conversation"
        " WHERE source IN (?, ?, ?, ?) AND fingerprint != ''",
        *(TINY, ODD, LAYERED, hostile.GOOD),
    )
    is_whole = len(rows) == 4 and dict(rows)[TINY] == TINY_ELEMENTS
    return is_whole and is_leak_masked(server)


@contextmanager
def put_link(path: Path, target: Path) -> Iterator[None]:
    """Put a link in the place of a file or folder, which is there again afterwards."""
    path.parent.mkdir(exist_ok=True)
    kept_path = path.with_name("kept")
    was_there = path.exists()
    if was_there:
        path.rename(kept_path)
    path.symlink_to(target)
    try:
        yield
    finally:
        if path.is_symlink():
            path.unlink()
        if was_there and not path.exists():
            kept_path.rename(path)


def write_through_links(
    server: Server, owner: Visitor, workspace_id: int, root: Path, outside_folder: Path
) -> None:
    """Run a turn for each link that is in the way of what it writes, and one without a link."""
    _clear(root / ".jp")
    (root / ".jp" / "conversations" / ".archive").unlink()  # nothing is written beside it
    conversation_id = find_conversation(server, hostile.GOOD)
    page, workspace_page = f"/conversations/{conversation_id}", f"/workspaces/{workspace_id}"
    writing = owner.post(f"{workspace_page}/writing", f"{workspace_page}/people", writing="current")
    assert writing.status == 200

    def is_over() -> bool:
        states = "SELECT state FROM store_run WHERE conversation_id = ?"
        return {("done",)}.issuperset(query(server, states, conversation_id))

    for place, target, status in WRITE_TRAPS[:: choose_size(3, 1)]:
        with put_link(root / ".jp" / place, outside_folder / target):
            reply = owner.post(f"{page}/turns", page, text=f"Through {place}\n{SHORT_TURN}")
            assert reply.status == status, place
            wait_until(is_over, "the turn has ended", 60)
    assert owner.post(f"{page}/turns", page, text=f"The last turn\n{SHORT_TURN}").status == 200
    wait_until(is_over, "the turn has ended", 60)
    events = root / ".jp" / "conversations" / hostile.GOOD / "events.json"
    assert "The last turn" in events.read_text()


def find_slower(
    quiet: dict[str, float], busy: dict[str, dict[str, float]]
) -> dict[tuple[str, str], float]:
    """Return the slowdown of each page, by phase, that exceeds the limit."""
    slower = {
        (phase, page): seconds / quiet[page]
        for phase, medians in busy.items()
        for page, seconds in medians.items()
    }
    return {place: ratio for place, ratio in slower.items() if ratio > MAX_SLOWDOWN}


def test_hostile_workspace_reaches_nothing_outside(
    server: Server, root: Path, tmp_path: Path, effort: Effort
):
    owner = Visitor(server.url)
    assert owner.sign_in(server.link).status == 200
    neighbor = Neighbor(server, owner)
    neighbor.visit()  # what is made at the first visit is not measured
    neighbor.take_medians()
    for _ in range(ROUNDS):
        neighbor.visit()
    quiet = neighbor.take_medians()
    workspace_id = find_workspace(server, str(root))
    outside_folder = hostile.make_outside(tmp_path / "outside")
    with watch_folder(outside_folder), ThreadPoolExecutor(1) as pool:
        expected_problems = hostile.make_entries(root, outside_folder)
        write_folder(root, TINY, b"[" + b"0," * (TINY_ELEMENTS - 1) + b"0]")
        odd_file = write_odd_conversations(root)
        opening = pool.submit(open_tools, owner, workspace_id, root, outside_folder, effort)
        mirroring = pool.submit(wait_until, partial(is_mirrored, server), "it is mirrored", 300)
        busy = {"tools, mirror": neighbor.visit_until(mirroring)}
        assert opening.result() == 2 * len(hostile.make_configurations(outside_folder))
        _clear(root / ".jp")
        contents = (
            partial(open_odd_conversation, server, owner, odd_file),
            partial(open_layered_conversation, server, owner),
            partial(refuse_private_channels, owner, workspace_id),
            partial(misuse_tools, server, owner, root, workspace_id),
            partial(flood_messages, server, owner, root, workspace_id),
            partial(drip_replies, server, owner, root, workspace_id),
        )
        busy["contents"] = neighbor.visit_until(*(pool.submit(content) for content in contents))
        writing = pool.submit(
            write_through_links, server, owner, workspace_id, root, outside_folder
        )
        busy["links"] = neighbor.visit_until(writing)
    problems = dict(
        query(server, "SELECT source, problem FROM store_conversation WHERE problem != ''")
    )
    problem_lines = {name: line for name, line in expected_problems.items() if ": " in line}
    assert problem_lines.items() <= problems.items()
    row_count, writes = effort.find_largest_transaction()
    assert MAX_BATCH_ENTRIES <= row_count <= MAX_CHANGED_ROWS < TINY_ELEMENTS, writes
    assert neighbor.find_slow(MAX_REQUEST_SECONDS) == {}
    if IS_PROOF:
        assert find_slower(quiet, busy) == {}
