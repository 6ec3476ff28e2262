"""What a question and its answer take of the database: trips to its thread, and statements."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from channels import consumer
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.runtime import db_threads, runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.web.websocket import conversation_updates
from tests.runtime.playing import wait_for_task
from tests.store import making
from tests.web.sockets import SOON, line_of
from tests.web.world import World

#: The trips from a question to its tool's next step, and the statements of each.
ROUND = [
    ("is_anyone_present", 1),
    ("record_events", 9),
    ("find_inbox_updates", 7),  # roles, snoozes, questions, approvals; card, answers, claims
    ("_attempt_answer", 3 + 7),  # sign-in and person, question, role; response and ledger entry
]
#: A batch that waits for what follows a change, and the samples of the load: outside of any round.
ASIDE = {"find_conversation_updates", "_do_nothing"}
ASK = '/call ask_user {"question": "Go on?", "answer_type": "boolean"}'


class Trips:
    """Counts the statements of each function that runs in the shared database thread."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, int]] = []
        self._run: Any = db_threads._run_in_shared_thread

    async def __call__(self, function: Any, *args: Any, **options: Any) -> Any:
        return await self._run(self._count, function, *args, **options)

    async def note_close(self) -> None:
        """Count the trip by which Channels closes old connections before each message."""
        self.counted.append(("aclose_old_connections", 0))

    def _count(self, function: Any, *args: Any, **options: Any) -> Any:
        with CaptureQueriesContext(connection) as captured:
            try:
                return function(*args, **options)
            finally:
                statements = [query for query in captured if not is_bound(query["sql"])]
                self.counted.append((function.__name__, len(statements)))


def is_bound(sql: str) -> bool:
    return sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))


async def test_a_question_and_its_answer_take_few_trips_and_statements(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
):
    trips = Trips()
    person = shared_world.people["responder"]
    conversation = await run_in_db_thread(
        making.conversation, shared_world.workspace, "Asking", person
    )
    line = line_of(await run_in_db_thread(shared_world.client, "responder"))
    assert (await line.connect(SOON))[0]
    facts = conversation_updates.make_metadata_key(conversation)
    state = {"conversation": conversation.pk, "metadata": facts, "inbox": True}
    await line.send_to(text_data=json.dumps(state))
    await line.receive_from(SOON)
    monkeypatch.setattr(db_threads, "_run_in_shared_thread", trips)
    monkeypatch.setattr(consumer, "aclose_old_connections", trips.note_close)
    monkeypatch.setattr(resolution, "FIRST_QUERY_SECONDS", SOON)
    await runs.start_turn(conversation, person, ASK)
    (active,) = run_executor._active_runs.values()
    frame = ""
    while not (card := re.search(r"/questions/(\d+)/answer", frame)):
        frame = str(await line.receive_from(SOON))
    answer = {"number": 1, "question": int(card[1]), "answer": "true"}
    await line.send_to(text_data=json.dumps(answer))
    assert active.task is not None
    await wait_for_task(active.task)
    names = [name for name, _ in trips.counted]
    start, end = names.index("is_anyone_present"), names.index("_attempt_answer") + 1
    assert [trip for trip in trips.counted[start:end] if trip[0] not in ASIDE] == ROUND
    await line.disconnect()
