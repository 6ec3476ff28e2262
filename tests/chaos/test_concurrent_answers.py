"""Many people answer one question at once, over two web servers, by socket and by form."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import cycle

import pytest

from tests.chaos import people
from tests.machine.local_cluster import Team
from tests.machine.ports import wait_until
from tests.machine.serving import is_serving
from tests.machine.sizes import choose_size

pytestmark = pytest.mark.chaos

PEOPLE = choose_size(12, 50)
_QUESTION = "SELECT id, conversation_id, state, answer, decider_name FROM store_inquiry WHERE id=%s"
_RESPONSES = """
SELECT count(*) FROM store_journalentry WHERE conversation_id=%s AND kind='inquiry_response'
"""


async def test_crowd_answers_one_question_once_and_losers_are_informed(team: Team):
    # Another test may have killed one of them just now; a socket goes to one server alone.
    wait_until(lambda: all(map(is_serving, team.ports)), "both servers serve", 60)
    workspace, links = people.make_people(team, PEOPLE, "crowd")
    members = await people.all_signed_in(team, links)
    first = members[0]
    prompt = '/call ask_user {"question": "Who is first?"}'
    assert await first.begin(workspace, prompt) == 302
    key, kind = await people.first_question(first)
    ways = cycle(("socket", "form"))
    statuses = await asyncio.gather(
        *(person.answer(key, kind, way) for person, way in zip(members, ways, strict=False))
    )
    assert Counter(statuses) == {200: 1, 409: PEOPLE - 1}

    (winner,) = (person for person in members if key in person.settled)
    ((_, conversation, state, answer, decider),) = team.rows(_QUESTION, key)
    assert (state, answer, decider) == ("answered", winner.settled[key], winner.name)
    assert team.rows(_RESPONSES, conversation) == [(1,)]
    assert {person.winner_name for person in members if person is not winner} == {winner.name}
