"""The first window of a conversation of very many events, against that of a hundred."""

from __future__ import annotations

from time import perf_counter

from django.db import connection
from django.test import Client

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Person
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.load.synthetic import import_conversation
from tests.store import making

#: Events of the conversation that the long one is compared with.
FEW = 100
ROUNDS = 25
#: Bytes that a page may have.
MOST = 300_000


def measure_first(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of the page of a conversation of many events, and of few."""
    with use_database(bench.make_database()):
        many, few = _prepared(bench.size.opened_events, progress)
        value, floor = measure_interleaved(
            bench, lambda: _opened(*many), lambda: _opened(*few), progress, ROUNDS
        )
    return value * 1000, floor * 1000


def _prepared(many: int, progress: Progress) -> list[tuple[Client, str]]:
    """Import both, each into a workspace of its own; return how each is opened."""
    visits = []
    for step, events in enumerate((many, FEW)):
        progress(step, 2)
        workspace = making.workspace(f"{events} events")
        conversation = import_conversation(workspace, events)
        visits.append(
            (
                _signed_in(making.person(f"reader{events}", Role.READER, workspace)),
                _path(conversation),
            )
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return visits


def _signed_in(person: Person) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(person)
    return client


def _path(conversation: Conversation) -> str:
    return f"/conversations/{conversation.pk}"


def _opened(client: Client, path: str) -> float:
    start_time = perf_counter()
    response = client.get(path)
    seconds = perf_counter() - start_time
    assert response.status_code == 200, response.status_code
    assert len(response.content) <= MOST, f"{path} weighs {len(response.content)} bytes"
    return seconds
