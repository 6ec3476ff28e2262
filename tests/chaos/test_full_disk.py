"""The disk of a team's PostgreSQL is full: pages open, and what there is no room for is refused.

The second case is harder: without room for its write-ahead log PostgreSQL stops, and does not
start again before there is some.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from jpweb.store.choices import Role
from tests.chaos import people, record, stage
from tests.chaos.crew import LEASE_SECONDS, Crew, run_crew
from tests.chaos.people import CrowdPerson
from tests.chaos.turns import answer_all, begin_turns, wait_until_settled
from tests.machine.faults.disks import HeldDisk
from tests.machine.servers import Cluster, run_postgres_on_disk
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.chaos

TURNS = choose_size(2, 20)
#: People of each case.
TEAM_SIZE = 3
#: Seconds that the disk stays full: leases that cannot be renewed expire meanwhile. In the other
#: case PostgreSQL is away as long as a page waits for it.
FULL_SECONDS = choose_size(2, 4) * LEASE_SECONDS
#: The cluster and the crew's database take 72 MB, each further segment of the log 16.
DISK_SIZE = "160m"
#: Bytes that cannot be compressed, for which no page of a table has room.
LONG_BYTES = 12_000
PAGES = ("/", "/conversations", "/questions", "/audit", "/search?q=called", "/conversations/new")

_MAKE_OWNERS = "UPDATE store_membership SET role = %s RETURNING id"
_NEWEST = "SELECT max(id) FROM store_conversation WHERE origin = 'native'"
_RUNS = "SELECT count(*) FROM store_run"
_BEGIN_SEGMENT = "SELECT pg_switch_wal()"
_WRITE_LOG = "SELECT pg_logical_emit_message(true, '', '')"


@dataclass(slots=True)
class Office:
    """A crew on a PostgreSQL that has a disk of its own, and links of people to sign in with."""

    crew: Crew
    cluster: Cluster
    disk: HeldDisk
    workspace: int
    links: list[tuple[str, str]]
    numbers: count[int]


@dataclass(slots=True)
class Witness:
    """Somebody who can open all pages, and has an open question."""

    person: CrowdPerson
    workspace: int
    paths: list[str]
    question: int

    async def open_pages(self) -> None:
        for path in self.paths:
            assert (await self.person.get(path)).status_code == 200, path

    async def send_too_much(self, *sentences: str) -> None:
        """Answer the question, and begin a turn; each is refused with these sentences."""
        text = self.person.dice.randbytes(LONG_BYTES).hex()
        replies = await asyncio.gather(
            self.person.post(f"/questions/{self.question}/answer", answer=text),
            self.person.post("/conversations/new", workspace=str(self.workspace), text=text),
        )
        for reply in replies:
            assert reply.status_code == 503
            for sentence in sentences:
                assert sentence in reply.text


@asynccontextmanager
async def fill_tables(office: Office, witness: Witness) -> AsyncIterator[None]:
    """Leave no room for rows; what is written to the log meanwhile fits its new segment."""
    office.crew.rows(_BEGIN_SEGMENT)
    office.crew.rows(_WRITE_LOG)
    with office.disk.fill():
        await witness.open_pages()
        await witness.send_too_much("Database disk full", "was not saved")
        yield
        await asyncio.sleep(FULL_SECONDS)
        await witness.open_pages()


@asynccontextmanager
async def fill_log(office: Office, witness: Witness) -> AsyncIterator[None]:
    """Leave no room for a segment of the log, which stops PostgreSQL, and start it afterwards."""
    with office.disk.fill():
        while office.crew.rows_later(_BEGIN_SEGMENT):  # the next may be an old one, used again
            office.crew.rows_later(_WRITE_LOG)
        await asyncio.to_thread(office.cluster.wait_for_end)
        await witness.send_too_much("Database unavailable", "may not have been saved")
        yield
    await asyncio.to_thread(office.cluster.start)


Fault = Callable[[Office, Witness], AbstractAsyncContextManager[None]]
FAULTS: dict[str, Fault] = {"tables": fill_tables, "log": fill_log}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage.make_workspace(tmp_path_factory.mktemp("disk-workspace"))


@pytest.fixture(scope="module")
def office(
    tmp_path_factory: pytest.TempPathFactory, shop: Path, redis_url: str
) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("disk")
    with (
        run_postgres_on_disk(DISK_SIZE) as (cluster, disk),
        run_crew(folder, shop, cluster.make_migrated(), redis_url) as crew,
    ):
        workspace, links = people.make_people(crew, TEAM_SIZE * len(FAULTS), "disk")
        crew.rows(_MAKE_OWNERS, Role.OWNER)
        yield Office(crew, cluster, disk, workspace, list(links.items()), count())


async def begin_work(office: Office) -> tuple[Witness, list[CrowdPerson]]:
    """Let some people sign in, and one of them begin turns; return that one and all of them."""
    links = dict(office.links.pop() for _ in range(TEAM_SIZE))
    members = await people.all_signed_in(office.crew, links)
    await begin_turns(members[0], office.workspace, office.numbers, TURNS)
    question, _ = await people.first_question(members[0])
    ((conversation,),) = office.crew.rows(_NEWEST)
    paths = [f"/conversations/{conversation}", *PAGES]
    return Witness(members[0], office.workspace, paths, question), members


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_full_disk_is_named_and_costs_no_question_and_no_turn(
    office: Office, shop: Path, fault: Fault
):
    crew, stop_event = office.crew, asyncio.Event()
    witness, members = await begin_work(office)
    work = (members[0], office.workspace, office.numbers)
    run_count = crew.rows(_RUNS)[0][0]
    async with asyncio.TaskGroup() as group:
        async with fault(office, witness):
            for person in members[1:]:
                group.create_task(answer_all(person, stop_event))
            begin_task = group.create_task(begin_turns(*work, TURNS))
        await begin_task
        await wait_until_settled(crew, *work, run_count + TURNS)
        stop_event.set()

    assert record.list_faults(crew) == [], crew.log_text()[-4000:]
    assert record.list_tally_faults(crew, Counter(stage.read_tally(shop))) == []
    assert people.list_lost_answers(members, record.list_answers(crew)) == []
    assert "Traceback" not in crew.log_text()
    assert people.list_unexpected_statuses(members) == []
