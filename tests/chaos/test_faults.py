"""What goes wrong without anybody dying: silence, half-open lines, pauses, hunger, other clocks.

The clocks of the three processes are ten minutes apart in all of it, and questions expire after
five: whoever compared times of two machines would expire them at once.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

from jpweb.store.database.timeouts import make_connection_options
from tests.chaos import people, record, stage
from tests.chaos.crew import LEASE_SECONDS, Crew, run_crew
from tests.chaos.held_model import run_held_model
from tests.chaos.turns import PATIENCE, answer_all, begin_turns, wait_until_settled
from tests.machine.faults.starving import pause_process, starve_process
from tests.machine.servers import Cluster
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.chaos

TURNS = choose_size(4, 30)
EXPIRES_SECONDS = 300
#: Seconds that a fault lasts: others take over, and it is over before questions expire.
FAULT_SECONDS = choose_size(2, 4) * LEASE_SECONDS
#: Replies that are cut off between two of their calls.
CUT_REPLIES = 2
Fault = Callable[[Crew], Awaitable[None]]

_LOCKED = "SELECT id FROM store_conversation WHERE origin = 'native' FOR UPDATE"
#: Conversations with the text that precedes the calls of a reply, but none of these: they are
#: recorded with the end of the reply.
_BETWEEN_CALLS = """
SELECT r.conversation_id FROM store_run r WHERE r.state = 'running' AND r.holder LIKE %s
AND EXISTS (SELECT FROM store_journalentry e
    WHERE e.conversation_id = r.conversation_id AND e.kind = 'chat_response')
AND NOT EXISTS (SELECT FROM store_journalentry e
    WHERE e.conversation_id = r.conversation_id AND e.kind = 'tool_call_request')
"""
_CALLS = "SELECT text::json->>'id' FROM store_journalentry WHERE kind = 'tool_call_request'"
_SET_OVERRIDES = "UPDATE store_workspace SET overrides = %s WHERE root = %s RETURNING id"
_BACKEND = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
_RUNS_LOCKED = "SELECT id FROM store_run WHERE state = 'running' FOR UPDATE"


@contextmanager
def lock_held_in_silence(crew: Crew) -> Iterator[int]:
    """Lock what is being worked on, by a connection of jpweb's whose line falls silent.

    Yields the process id of its backend, which PostgreSQL ends after FAULT_SECONDS.
    """
    options = make_connection_options(2 * FAULT_SECONDS, {})["options"]
    options += f" -c idle_in_transaction_session_timeout={FAULT_SECONDS * 1000}"
    holder = psycopg.connect(crew.find_address("worker1"), options=options)
    try:
        holder.execute(_LOCKED)
        holder.execute(_RUNS_LOCKED)
        with socket.socket(fileno=os.dup(holder.pgconn.socket)) as line:
            own_address = line.getsockname()
        proxy = crew.proxies["worker1"]
        (link,) = (link for link in proxy.links if link.client.getpeername() == own_address)
        proxy.silence(link)
        yield holder.info.backend_pid
    finally:
        holder.close()


async def hold_locks(crew: Crew) -> None:
    """Hold locks until PostgreSQL ends the silent connection: its client does not."""
    with lock_held_in_silence(crew) as backend_pid:
        async with asyncio.timeout(4 * FAULT_SECONDS):
            while crew.rows(_BACKEND, backend_pid):  # noqa: ASYNC110  it rings no bell
                await asyncio.sleep(0.2)


async def silence_worker(crew: Crew) -> None:
    """Silence all that a worker has open; nobody cuts it, it has to see that itself."""
    crew.proxies["worker1"].silence()
    await asyncio.sleep(FAULT_SECONDS)


async def silence_web(crew: Crew) -> None:
    crew.proxies["web"].silence()
    await asyncio.sleep(FAULT_SECONDS)


async def half_open_lines(crew: Crew) -> None:
    for proxy in crew.proxies.values():
        proxy.half_close()
    await asyncio.sleep(FAULT_SECONDS)


async def pause_worker(crew: Crew) -> None:
    with pause_process(crew.pid("worker1")):
        await asyncio.sleep(2 * LEASE_SECONDS)


async def starve_workers(crew: Crew) -> None:
    await asyncio.gather(
        *(starve_process(crew.pid(name), FAULT_SECONDS) for name in ("worker1", "worker2"))
    )


async def cut_replies(crew: Crew) -> None:
    """Kill the workers whose replies hang between two calls, once all that are held do."""
    async with asyncio.timeout(PATIENCE):
        while len(crew.rows(_BETWEEN_CALLS, "%")) < CUT_REPLIES:  # noqa: ASYNC110  it rings no bell
            await asyncio.sleep(0.05)
    cut_count = 0
    for name in ("worker1", "worker2"):
        held_by = f"%#{crew.pid(name)}-%"
        if crew.rows(_BETWEEN_CALLS, held_by):
            crew.kill(name)
            cut_count += len(crew.rows(_BETWEEN_CALLS, held_by))
    assert cut_count > 0, "no kill fell between two calls of a reply"


FAULTS: dict[str, Fault] = {
    "silent lock": hold_locks,
    "silent worker": silence_worker,
    "silent web": silence_web,
    "half-open": half_open_lines,
    "paused": pause_worker,
    "starved": starve_workers,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage.make_workspace(tmp_path_factory.mktemp("faults-workspace"))


@pytest.fixture(scope="module")
def staff(
    tmp_path_factory: pytest.TempPathFactory, shop: Path, postgres: Cluster, redis_url: str
) -> Iterator[Crew]:
    folder = tmp_path_factory.mktemp("faults")
    with run_crew(folder, shop, postgres.make_migrated(), redis_url) as running_crew:
        yield running_crew


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return count()


async def cast(staff: Crew, size: int, number: int) -> tuple[int, list[people.CrowdPerson]]:
    """Return the workspace, whose questions expire, and new people who are signed in."""
    workspace, links = people.make_people(staff, size, f"faults{number}")
    with psycopg.connect(staff.database, autocommit=True) as line:
        line.execute("UPDATE store_workspace SET expires_after = %s", [EXPIRES_SECONDS])
    return workspace, await people.all_signed_in(staff, links)


async def play_through(staff: Crew, shop: Path, numbers: count[int], fault: Fault) -> None:
    """Let turns begin, a fault happen and everything end; fails where anything was lost."""
    workspace, members = await cast(staff, 3, next(numbers))
    stop_event, before = asyncio.Event(), staff.rows("SELECT count(*) FROM store_run")[0][0]
    async with asyncio.TaskGroup() as group:
        for person in members[1:]:
            group.create_task(answer_all(person, stop_event))
        begin_task = group.create_task(begin_turns(members[0], workspace, numbers, TURNS))
        await asyncio.sleep(0.5)
        await fault(staff)
        await begin_task
        await wait_until_settled(staff, members[0], workspace, numbers, before + TURNS)
        stop_event.set()

    assert record.list_faults(staff) == [], staff.log_text()[-4000:]
    assert record.list_tally_faults(staff, Counter(stage.read_tally(shop))) == []
    assert "Traceback" not in staff.log_text()
    assert people.list_unexpected_statuses(members) == []


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_fault_costs_no_question_no_call_and_no_turn(
    staff: Crew, shop: Path, numbers: count[int], fault: Fault
):
    await play_through(staff, shop, numbers, fault)


async def test_reply_that_is_cut_between_two_calls_is_requested_again(
    staff: Crew, shop: Path, numbers: count[int]
):
    with run_held_model(CUT_REPLIES) as model:
        staff.rows(_SET_OVERRIDES, model.overrides, str(shop))
        try:
            await play_through(staff, shop, numbers, cut_replies)
        finally:
            staff.rows(_SET_OVERRIDES, "", str(shop))
    call_ids = {call_id for (call_id,) in staff.rows(_CALLS)}
    assert len(model.held_ids) == CUT_REPLIES
    assert not call_ids & set(model.held_ids), "the first call of a cut reply was kept"


async def test_pages_open_while_a_silent_connection_holds_their_rows(
    staff: Crew, numbers: count[int]
):
    workspace, (person,) = await cast(staff, 1, next(numbers))
    await begin_turns(person, workspace, numbers, 1)
    ((conversation,),) = staff.rows(
        "SELECT max(id) FROM store_conversation WHERE origin = 'native'"
    )
    page = f"/conversations/{conversation}"
    with lock_held_in_silence(staff):
        for path in (page, "/", "/conversations", "/questions"):
            assert (await person.get(path)).status_code == 200, path
    stop_event = asyncio.Event()
    task = asyncio.create_task(answer_all(person, stop_event))
    await wait_until_settled(staff, person, workspace, numbers, 0)
    stop_event.set()
    await task
