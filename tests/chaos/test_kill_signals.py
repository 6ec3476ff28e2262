"""Everything is killed, again and again, while turns run and people answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.chaos import people, record, stage
from tests.chaos.turns import PATIENCE, answer_all, begin_turns, wait_until_settled
from tests.machine.local_cluster import Team

pytestmark = pytest.mark.chaos

#: How often each is hit, against the others.
TARGETS = {"worker1": 4, "worker2": 4, "web1": 3, "web2": 3, "postgres": 2, "redis": 2}
STARTERS, ANSWERERS = 3, 7


class Trouble:
    """Kills processes at random times; ``struck`` says which, and ``over`` that it is done."""

    def __init__(self, team: Team, seed: int) -> None:
        self._team = team
        self._dice = random.Random(seed)  # noqa: S311  the same seed kills the same again
        self.struck: Counter[str] = Counter()

    async def rage(self, seconds: float) -> None:
        """Kill for so long; each process at least once, however little time there is."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        first = self._dice.sample(list(TARGETS), len(TARGETS))
        while first or clock() < end:
            await asyncio.sleep(self._dice.uniform(*stage.PAUSES))
            (name,) = first[-1:] or self._dice.choices(list(TARGETS), list(TARGETS.values()))
            if self._team.strike(name):
                self.struck[name] += 1
                first = first[:-1]


async def test_killed_processes_lose_no_question_and_repeat_no_answer(
    team: Team, chaos_workspace: Path
):
    workspace, links = people.make_people(team, STARTERS + ANSWERERS, "chaos")
    members = await people.all_signed_in(team, links)
    numbers, stop_event, trouble = count(), asyncio.Event(), Trouble(team, stage.SEED)
    async with asyncio.timeout(stage.SECONDS + PATIENCE), asyncio.TaskGroup() as group:
        for person in members[STARTERS:]:
            group.create_task(answer_all(person, stop_event))
        raging = group.create_task(trouble.rage(stage.SECONDS))
        runs_per_starter = stage.RUNS // STARTERS
        pause = 0.8 * stage.SECONDS / runs_per_starter  # turns begin while there is trouble
        begin_tasks = [
            group.create_task(begin_turns(person, workspace, numbers, runs_per_starter, pause))
            for person in members[:STARTERS]
        ]
        await asyncio.wait([raging, *begin_tasks])
        await wait_until_settled(team, members[0], workspace, numbers, stage.RUNS)
        stop_event.set()
    print(f"killed: {dict(trouble.struck)}")

    assert record.list_faults(team) == []
    run_counts = Counter(stage.read_tally(chaos_workspace))
    assert record.list_tally_faults(team, run_counts) == []
    assert people.list_lost_answers(members, record.list_answers(team)) == []
    assert set(trouble.struck) == set(TARGETS), "each was killed at least once"
    assert people.list_unexpected_statuses(members) == []
