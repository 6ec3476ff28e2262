"""What a hundred thousand parked runs cost those who have nothing to do with them.

The floor is the same server with a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection
from django.db.models import Model

from jpweb.agent.event_writer import get_utc_now
from jpweb.agent.tool_outcome import NeedsInput
from jpweb.agent.tools.ask_user import AskUser
from jpweb.agent.turn import make_opening_events
from jpweb.store import conversations, inquiries, journal, runs
from jpweb.store.choices import Role
from jpweb.store.models import (
    Conversation,
    Membership,
    Passage,
    Person,
    Workspace,
)
from jpweb.store.search import filter_terms, indexer
from jpweb.store.suspected_secrets import scanner
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, EventKind, ToolCallRequest
from jpweb.stream.inquiry import InquiryRequest
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database
from tests.load.page import Browser, PageSocket, make_cookie
from tests.machine.serving import Server
from tests.store import making

#: Parked runs that the many are compared with.
FEW = 100
#: Runs that one person may answer, and how often each thing is measured.
OWN = 40
STARTS, ANSWERS = 3, 15
#: What a page is sent once a turn has ended.
DONE = '-done"'
#: Bits of a passage's key below its milliseconds.
MILLISECOND_BITS = 21

_ARGUMENTS = {"question": "Go on?", "answer_type": "boolean"}
_CALL = "call_1"


def measure_start(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the seconds from the command to the link, and one request answered."""
    places = bench.share(_prepare_places, progress)
    return measure_interleaved(
        bench, lambda: _started(places.many), lambda: _started(places.few), progress, STARTS
    )


def measure_memory(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the megabytes of a server that has started and shown a page of questions."""
    places = bench.share(_prepare_places, progress)
    sizes: tuple[list[float], list[float]] = ([], [])
    starts = bench.size.limit_rounds(STARTS)
    for done in range(starts):
        for place, samples in zip((places.many, places.few), sizes, strict=True):
            samples.append(_resident(place))
        progress(done + 1, starts)
    return median(sizes[0]), median(sizes[1])


def measure_answer(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds from an answer to the result of its tool on the page."""
    places = bench.share(_prepare_places, progress)
    with _serving(places.many) as many, _serving(places.few) as few:
        value, floor = measure_interleaved(
            bench, many.time_answer, few.time_answer, progress, ANSWERS
        )
    return value * 1000, floor * 1000


@dataclass(frozen=True, slots=True)
class ParkedInstallation:
    """A data folder, somebody's sign-in, and the conversations whose runs they may answer."""

    server: Server
    cookie: str
    conversation_ids: list[int]


@dataclass(frozen=True, slots=True)
class AnsweringBrowser:
    """A running server, and the browser of somebody who answers."""

    place: ParkedInstallation
    browser: Browser

    def time_answer(self) -> float:
        """Answer a question; returns the seconds until its tool's result is on record and seen."""
        conversation = self.place.conversation_ids.pop()
        with PageSocket(self.place.server.port, self.place.cookie) as page:
            page.say(
                {"conversation": conversation, "entry_count": 4, "inbox": True, "questions": []}
            )
            path = page.card()
            start_time = perf_counter()
            status, _ = self.browser.send(path, answer="true")
            assert status == 200, status
            text = page.until('data-kind="tool_call_response"')
            seconds = perf_counter() - start_time
            while DONE not in text:
                text = page.text()
        return seconds


def make_parked_database(path: Path, many: int, workspace_count: int) -> tuple[str, list[int]]:
    """Make parked runs in a database that is empty, in so many workspaces or in one.

    They are indexed and searched for secrets, as on a server that has run for a while.

    Returns the sign-in of who may answer those of the first workspace, and its conversations.
    """
    with use_database(path):
        workspace = making.workspace()
        person = making.person("ada", Role.RESPONDER, workspace)
        conversation = park_run(workspace, person)
        index_and_scan(conversation)
        copy_conversation(conversation, range(1, OWN), [workspace.pk])
        conversation_ids = list(Conversation.objects.values_list("pk", flat=True))
        places = (
            [workspace.pk]
            if workspace_count == 1
            else [making.workspace().pk for _ in range(workspace_count)]
        )
        copy_conversation(conversation, range(OWN, OWN + many), places)
        Membership.objects.bulk_create(
            Membership(person=person, workspace_id=place, role=Role.RESPONDER)
            for place, person in zip(places, _people(workspace_count), strict=True)
            if workspace_count > 1
        )
        return make_cookie(person), conversation_ids


def park_run(workspace: Workspace, person: Person) -> int:
    """Make a run that is parked over one question of the assistant; return its conversation."""
    outcome = async_to_sync(AskUser().execute)(_ARGUMENTS, {})
    assert isinstance(outcome, NeedsInput)
    question = outcome.question
    note = {"tool_call_id": _CALL, "tool": AskUser.NAME, "question_id": question.id, "attempt": 1}
    request = InquiryRequest(
        f"{_CALL}.{question.id}.1",
        AskUser().make_inquiry_source(""),
        question.to_inquiry_question(),
    )
    conversation = conversations.create_conversation(workspace, "A talk that waits", person.pk)
    opening_events = make_opening_events(
        '/call ask_user {"question": "Go on?"}', person.display_name, get_utc_now()
    )
    run = making.acquire_run(
        runs.start_run(conversation.pk, person.pk, "scripted", "script", opening_events)
    )
    journal.append_events(
        conversation.pk, [_event(ToolCallRequest(_CALL, AskUser.NAME, _ARGUMENTS))], run
    )
    journal.append_events(conversation.pk, [_event(request, {"jpweb": note})], run)
    row = inquiries.find_by_inquiry_id(conversation.pk, request.id)
    assert runs.park_run(run, [row.pk], [])
    key: int = conversation.pk
    return key


def index_and_scan(conversation: int) -> None:
    """Do for new events of a conversation what a server does in the background."""
    indexer.index_conversation(conversation)
    while scanner.scan_next():
        pass


def copy_conversation(conversation: int, numbers: range, places: Sequence[int]) -> None:
    """Copy a conversation with all its rows, each copy by its number, into workspaces in turn."""
    source = Conversation.objects.get(pk=conversation)
    tables = [(Conversation, "id")] + [
        (relation.related_model, str(relation.field.column))
        for relation in Conversation._meta.related_objects
    ]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE copy (n INTEGER PRIMARY KEY, home INTEGER)")
        cursor.executemany(
            "INSERT INTO copy VALUES (%s, %s)",
            [(n, places[n % len(places)]) for n in numbers],
        )
        for model, key_column in tables:
            cursor.execute(*_copying(model, key_column, source))
        cursor.execute("DROP TABLE copy")


def _copying(model: type[Model], key_column: str, source: Conversation) -> tuple[str, list[int]]:
    """Return the statement that copies the rows of a conversation in one table.

    Rows of one conversation have keys in a row, so a copy's keys are those of the source moved by
    the rows of ``n`` conversations. A passage's key begins with its time, to which ``n``
    milliseconds are added for each millisecond from the first passage to the last.
    """
    rows = model._default_manager.filter(**{key_column: source.pk})
    step = rows.count()
    if model is Passage and step:
        ids = sorted(rows.values_list("pk", flat=True))
        step = (
            (ids[-1] >> MILLISECOND_BITS) - (ids[0] >> MILLISECOND_BITS) + 1
        ) << MILLISECOND_BITS
    source_term = filter_terms.make_workspace_term(source.workspace_id)
    new_values = {
        "id": f"id + n * {step}",
        "conversation_id": "conversation_id + n",
        "run_id": "run_id + n",
        "jp_id": "jp_id + n",
        "workspace_id": "home",
        "same_question_key": "substr(same_question_key, 1, 30) || '-' || home",
        "tags": f"replace(tags, '{source_term}', 'w' || home)",
    }
    columns = [str(field.column) for field in model._meta.concrete_fields]
    values = ", ".join(new_values.get(name, name) for name in columns)
    names, table = ", ".join(columns), model._meta.db_table
    return (
        f"INSERT INTO {table} ({names}) SELECT {values} FROM {table}, copy WHERE {key_column} = %s",  # noqa: S608  Django's own names
        [source.pk],
    )


def _people(many: int) -> list[Person]:
    """Make people, each of whom is at home somewhere."""
    return [making.person() for _ in range(many)]


def _event(kind: EventKind, metadata: dict[str, Any] | None = None) -> ConversationEvent:
    return ConversationEvent(timestamps.format_timestamp(get_utc_now()), kind, metadata or {})


@dataclass(frozen=True, slots=True)
class Places:
    """Installations with many and with few parked runs."""

    many: ParkedInstallation
    few: ParkedInstallation


@contextmanager
def _prepare_places(bench: BenchRun, progress: Progress) -> Iterator[Places]:
    """Make both installations; each serves only while it is measured."""
    progress(0, 1)
    workspace_count = bench.size.parked_workspaces
    yield Places(
        *(_make_place(bench, many, workspace_count) for many in (bench.size.parked_runs, FEW))
    )


def _make_place(bench: BenchRun, many: int, workspace_count: int) -> ParkedInstallation:
    path = bench.make_database()
    signed_in, conversation_ids = make_parked_database(path, many, workspace_count)
    variables = {"JPWEB_SCRIPT_PACE_SECONDS": "0", "JPWEB_SECRET_KEY": settings.SECRET_KEY}
    place = ParkedInstallation(Server(path.parent, settings=variables), signed_in, conversation_ids)
    if bench.size.warm_up_rounds:
        _started(place)  # it reads the demo once
    return place


def _started(place: ParkedInstallation) -> float:
    start_time = perf_counter()
    try:
        place.server.start()
        with closing(HTTPConnection("127.0.0.1", place.server.port)) as line:
            line.request("GET", "/sign-in")
            assert line.getresponse().status == 200
        return perf_counter() - start_time
    finally:
        place.server.close()


@contextmanager
def _serving(place: ParkedInstallation) -> Iterator[AnsweringBrowser]:
    try:
        place.server.start()
        with Browser.at(place.server.port, place.cookie) as browser:
            yield AnsweringBrowser(place, browser)
    finally:
        place.server.close()


def _resident(place: ParkedInstallation) -> float:
    with _serving(place) as server:
        status, _ = server.browser.get("/questions")
        assert status == 200
        status_text = Path(f"/proc/{place.server.pid}/status").read_text()
        return int(status_text.partition("VmRSS:")[2].split()[0]) / 1024
