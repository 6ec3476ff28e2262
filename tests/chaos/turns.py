"""Turns that are begun and answered while things go wrong, and the wait until all are done."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count

from tests.chaos import stage
from tests.chaos.people import BROKEN, CrowdPerson
from tests.chaos.record import Deployment

#: Seconds that a slow machine gets, once nothing is killed any more.
PATIENCE = 400.0

_RUNS = "SELECT count(*) FROM store_run"
_LEFT = """
SELECT (SELECT count(*) FROM store_run WHERE state IN ('queued', 'running', 'parked'))
     + (SELECT count(*) FROM store_inquiry i JOIN store_conversation c ON c.id = i.conversation_id
        WHERE c.origin = 'native' AND i.state = 'open')
     + (SELECT count(*) FROM store_approval WHERE state = 'open')
     + (SELECT count(*) FROM procrastinate_jobs)
"""


async def begin_turns(
    person: CrowdPerson, workspace: int, numbers: count[int], enough: int, pause: float = 0.2
) -> None:
    """Begin turns until there were enough; whether one that broke has begun, nobody knows."""
    turn_count = 0
    while turn_count < enough:
        with suppress(*BROKEN):
            turn_count += await person.begin(workspace, stage.make_turn_text(next(numbers))) == 302
        await asyncio.sleep(pause)


async def answer_all(person: CrowdPerson, stop_event: asyncio.Event) -> None:
    """Answer and allow whatever waits, in no order, until everything is done."""
    while not stop_event.is_set():
        with suppress(*BROKEN):
            questions = await person.questions()
            for key, kind in person.dice.sample(questions, min(4, len(questions))):
                await person.answer(key, kind)
            for key in await person.approvals():
                await person.allow(key)
        await asyncio.sleep(0.2)


async def wait_until_settled(
    place: Deployment, starter: CrowdPerson, workspace: int, numbers: count[int], enough: int
) -> None:
    """Wait until all is done, and see to it that there were ``enough`` turns."""
    async with asyncio.timeout(PATIENCE):
        while True:
            left_rows, runs = place.rows_later(_LEFT), place.rows_later(_RUNS)
            if left_rows == [(0,)] and runs and runs[0][0] >= enough:
                return
            if runs and runs[0][0] < enough:
                await begin_turns(starter, workspace, numbers, enough - runs[0][0])
            await asyncio.sleep(0.5)
