"""Everything is killed, again and again, while turns run and people answer."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path

from tests.chaos import people, record, stage
from tests.chaos.people import BROKEN, Person
from tests.machine.household import Team

#: How often each is hit, against the others.
TARGETS = {"worker1": 4, "worker2": 4, "web1": 3, "web2": 3, "postgres": 2, "redis": 2}
STARTERS, ANSWERERS = 3, 7
#: Seconds that a slow machine gets, once nothing is killed any more.
PATIENCE = 400.0

_RUNS = "SELECT count(*) FROM store_run"
_LEFT = """
SELECT (SELECT count(*) FROM store_run WHERE state IN ('queued', 'running', 'parked'))
     + (SELECT count(*) FROM store_inquiry i JOIN store_conversation c ON c.id = i.conversation_id
        WHERE c.origin = 'native' AND i.state = 'open')
     + (SELECT count(*) FROM procrastinate_jobs)
"""


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
            await asyncio.sleep(self._dice.uniform(1.0, 5.0))
            (name,) = first[-1:] or self._dice.choices(list(TARGETS), list(TARGETS.values()))
            if self._team.strike(name):
                self.struck[name] += 1
                first = first[:-1]


async def begin_turns(
    who: Person, workspace: int, numbers: count[int], enough: int, pause: float = 0.2
) -> None:
    """Begin turns until there were enough; whether one that broke has begun, nobody knows."""
    begun = 0
    while begun < enough:
        with suppress(*BROKEN):
            begun += await who.begin(workspace, stage.turn(next(numbers))) == 302
        await asyncio.sleep(pause)


async def answer_all(who: Person, done: asyncio.Event) -> None:
    """Answer whatever waits, in no order, until everything is done."""
    dice = random.Random(who.name)  # noqa: S311  people differ
    while not done.is_set():
        with suppress(*BROKEN):
            waiting = await who.questions()
            for key, kind in dice.sample(waiting, min(4, len(waiting))):
                await who.answer(key, kind)
        await asyncio.sleep(0.2)


async def settled(team: Team, more: Person, workspace: int, numbers: count[int]) -> None:
    """Wait until all is done, and see to it that there were as many turns as were wanted."""
    async with asyncio.timeout(PATIENCE):
        while True:
            left, runs = team.rows_later(_LEFT), team.rows_later(_RUNS)
            if left == [(0,)] and runs and runs[0][0] >= stage.RUNS:
                return
            if runs and runs[0][0] < stage.RUNS:
                await begin_turns(more, workspace, numbers, stage.RUNS - runs[0][0])
            await asyncio.sleep(0.5)


async def test_whatever_is_killed_no_question_is_lost_and_none_is_answered_twice(
    household: Team, chaos_workspace: Path
):
    print(f"JPWEB_CHAOS_SEED={stage.SEED}")
    workspace, links = people.cast(household, STARTERS + ANSWERERS, "chaos")
    everybody = await people.all_signed_in(household, links)
    numbers, done, trouble = count(), asyncio.Event(), Trouble(household, stage.SEED)
    async with asyncio.TaskGroup() as group:
        for person in everybody[STARTERS:]:
            group.create_task(answer_all(person, done))
        raging = group.create_task(trouble.rage(stage.SECONDS))
        each = stage.RUNS // STARTERS
        pause = 0.8 * stage.SECONDS / each  # turns begin while there is trouble
        begun = [
            group.create_task(begin_turns(person, workspace, numbers, each, pause))
            for person in everybody[:STARTERS]
        ]
        await asyncio.wait([raging, *begun])
        await settled(household, everybody[0], workspace, numbers)
        done.set()
    print(f"killed: {dict(trouble.struck)}")

    assert record.faults(household) == []
    ran = Counter(stage.tallied(chaos_workspace))
    assert record.repeated(household, ran) == []
    kept = record.answers(household)
    told = {key: typed for person in everybody for key, typed in person.settled.items()}
    typed = {"true": True, "false": False}
    assert {key: typed.get(text, text) for key, text in told.items()} == {
        key: kept[key] for key in told
    }, "what was acknowledged is on record"
    assert set(trouble.struck) == set(TARGETS), "each was killed at least once"
