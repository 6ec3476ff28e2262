"""A secret that was typed is nowhere afterwards.

In ``make test``, ``tests/browser/workshop/test_turn.py`` has it of a server that executes runs
itself, and ``tests/runtime/inquiries/secret_channel/test_processes.py`` of two processes with a
Redis.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import psycopg
import pytest
import redis
from playwright.sync_api import Page, expect
from psycopg import sql

from tests.browser import evidence
from tests.browser.pages import (
    BOOLEAN,
    SECRET,
    SELECT,
    TEXT,
    Home,
    Visit,
    answer_all,
    answer_question,
    decline_question,
    find_card,
    find_composer,
    find_inquiries,
    last_words,
    number_of,
    path_of,
    serve_home,
    stay_on_page,
)
from tests.layers import unseal_text
from tests.machine.browsing import Pages
from tests.machine.fixtures import Live
from tests.machine.ports import is_accepting, wait_until
from tests.machine.servers import Cluster
from tests.machine.serving import Server

pytestmark = [pytest.mark.browser, pytest.mark.proof]

#: What a server and its worker seal with, whose data folders are two.
SECRET_KEY = "the same everywhere"


@pytest.fixture
def canary() -> str:
    return f"canary{secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def talkative_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo and log all that can be logged."""
    data = tmp_path_factory.mktemp("talkative") / "data"
    settings = {"JPWEB_SCRIPT_PACE_SECONDS": "0", "JPWEB_LOG_LEVEL": "DEBUG"}
    with serve_home(Server(data, settings=settings)) as home:
        yield home


@pytest.fixture
def debug_visit(talkative_home: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the server that logs all it can; it is started again where a test has ended it."""
    visit = Visit(talkative_home, open_page)
    if not is_accepting(visit.server.port):
        visit.server.start()
    yield visit
    if is_accepting(visit.server.port):
        visit.leave()


def up_to_the_secret(page: Page) -> None:
    for kind in (BOOLEAN, SELECT, TEXT):
        decline_question(page, kind)
    find_card(page, SECRET)


def every_page(visit: Visit, place: str) -> Iterator[str]:
    """Yield the text of every page that could show something of a conversation."""
    owner = visit.home.owner
    transcript = owner.get(place).text
    paths = {place, "/", "/conversations", "/questions", "/audit", "/audit.csv"}
    anchors = re.findall(r'id="(e-\w+)" data-kind', transcript)
    paths |= {f"{place}/events/{anchor}" for anchor in anchors}
    paths |= {f"{place}/export/{name}" for name in ("jp", "jsonl", "markdown", "html")}
    paths |= set(re.findall(r"/questions/\d+(?=\")", owner.get("/questions").text))
    assert len(anchors) > 5
    for path in sorted(paths):
        reply = owner.get(path)
        assert reply.status == 200
        yield reply.text


def check_traces(visit: Visit, canary: str, *pages: Page) -> None:
    """Check every place there is."""
    place = path_of(pages[0])
    log = visit.server.log_text()
    assert "DEBUG" in log
    pages_html = [*every_page(visit, place), *map(evidence.kept_by, pages)]
    data = visit.server.data
    assert {path.suffix for path in data.glob("jpweb.sqlite3*")} > {".sqlite3"}
    assert evidence.find_traces("I am a script", data), "the search finds what is there"
    assert evidence.find_traces(canary, data, log, *pages_html) == []


def test_a_secret_typed_after_an_empty_one_was_refused_is_nowhere(debug_visit: Visit, canary: str):
    debug_visit.pages.forgive("status of 422")
    page = debug_visit.begin("Canary")
    up_to_the_secret(page)
    field = page.get_by_label("Secret", exact=True)
    field.evaluate("field => field.required = false")
    find_card(page, SECRET).get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_have_text("Enter the secret, or decline.")
    answer_question(page, SECRET, canary)
    expect(find_composer(page)).to_be_visible()
    check_traces(debug_visit, canary, page)


@pytest.mark.parametrize("javascript", [True, False])
def test_late_secret_is_stored_nowhere(debug_visit: Visit, canary: str, javascript: bool):
    debug_visit.pages.forgive("status of 409")
    page = debug_visit.begin("Canary")
    up_to_the_secret(page)
    late_page = debug_visit.open(javascript=javascript)
    late_page.route_web_socket(re.compile("/ws$"), lambda _: None)
    late_page.goto(page.url)
    find_card(late_page, SECRET).get_by_label("Secret", exact=True).fill(canary)
    decline_question(page, SECRET)
    late_page.get_by_role("button", name="Answer").click()
    expect(late_page.get_by_role("alert")).to_contain_text("You already responded")
    expect(late_page.get_by_text("Your draft")).to_have_count(0)
    check_traces(debug_visit, canary, page, late_page)


@pytest.mark.parametrize(("cookie", "status"), [("jpweb_session", 302), ("jpweb_csrf", 403)])
def test_a_secret_sent_without_the_right_to_is_nowhere(
    debug_visit: Visit, canary: str, cookie: str, status: int
):
    debug_visit.pages.forgive("status of 403")
    page = debug_visit.begin("Canary")
    up_to_the_secret(page)
    second_page = debug_visit.open(path_of(page), javascript=False)
    second_page.get_by_label("Secret", exact=True).fill(canary)
    second_page.context.clear_cookies(name=cookie)
    with second_page.expect_response(lambda response: response.request.method == "POST") as info:
        second_page.get_by_role("button", name="Answer").click()
    assert info.value.status == status
    heading = "Sign in" if status == 302 else None
    expect(second_page.get_by_role("heading", name=heading).first).to_be_visible()
    find_card(page, SECRET)
    check_traces(debug_visit, canary, page, second_page)


def test_a_secret_that_was_answered_is_nowhere(debug_visit: Visit, canary: str):
    page = debug_visit.begin("Canary")
    answer_all(page, canary)
    expect(find_inquiries(page).last).to_have_attribute("data-outcome", "redacted")
    check_traces(debug_visit, canary, page)
    debug_visit.pages.close()
    debug_visit.server.stop()
    data, log = debug_visit.server.data, debug_visit.server.log_text()
    assert evidence.find_traces(canary, data, log) == []


def rows(url: str) -> dict[str, str]:
    """Return every table of a PostgreSQL database, its rows as text."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(query)]
        table_query = sql.SQL("SELECT {0}::text FROM {0}")
        rows_by_table = {
            name: connection.execute(table_query.format(sql.Identifier(name))).fetchall()
            for name in tables
        }
    return {name: "\n".join(text for (text,) in table) for name, table in rows_by_table.items()}


@contextmanager
def tap_redis(url: str, secret_key: str) -> Iterator[Callable[[], str]]:
    """Listen to a Redis; what is yielded tells all that it was told, and all that it keeps.

    What processes with this key have encrypted is told in clear.
    """
    with redis.Redis.from_url(url) as client, client.monitor() as monitor:

        def read_traffic() -> str:
            client.echo("that is all")
            commands = [str(monitor.next_command())]
            while "that is all" not in commands[-1]:
                commands.append(str(monitor.next_command()))
            values = [f"{key!r} {client.dump(key)!r}" for key in client.scan_iter()]
            return unseal_text("\n".join(commands + values), secret_key)

        yield read_traffic


def test_secret_journey_on_postgresql_and_redis_leaves_no_trace(
    live: Live,
    visiting: Callable[[Server], Visit],
    postgres: Cluster,
    redis_url: str,
    canary: str,
):
    url = postgres.make_migrated()
    server = live(
        DATABASE_URL=url,
        REDIS_URL=redis_url,
        JPWEB_SECRET_KEY=SECRET_KEY,
        JPWEB_SCRIPT_PACE_SECONDS="0",
        JPWEB_LOG_LEVEL="DEBUG",
    )
    visit = visiting(server)
    inbox = visit.open("/questions")
    with tap_redis(redis_url, SECRET_KEY) as read_traffic:
        page = visit.begin("Team")
        with stay_on_page(page), stay_on_page(inbox):
            find_card(inbox, BOOLEAN)
            answer_all(page, canary)
            expect(last_words(page)).to_contain_text("secret: received, not shown")
            expect(inbox.locator(".card.settled")).to_have_count(4)
        traffic = read_traffic()
    outcomes = [inquiry.get_attribute("data-outcome") for inquiry in find_inquiries(page).all()]
    assert outcomes == [*["answered"] * 3, "redacted"]
    stored, pages_html = "\n".join(rows(url).values()), list(every_page(visit, path_of(page)))
    assert "without a backup" in stored
    assert "jpweb.conversation" in traffic
    assert "'kind': 'conversation'" in traffic, "it is searched in clear"
    texts = [stored, traffic, server.log_text(), *pages_html, evidence.kept_by(page)]
    assert evidence.find_traces(canary, server.data, *texts) == []


class Worker(Server):
    """``manage.py work``: executes the runs of a server that has the same database and Redis."""

    COMMAND: ClassVar = "work"

    def start(self, seconds: float = 60) -> Self:
        log_length = len(self.log_text())
        self._process = self._spawn()
        wait_until(
            lambda: "Executing up to" in self.log_text()[log_length:], "the worker works", seconds
        )
        return self

    def ensure_started(self) -> None:
        """Start it unless it runs."""
        if self._process is None or self._process.poll() is not None:
            self.start()


class TeamHome(NamedTuple):
    """A web server that executes nothing, a worker, and what they share."""

    home: Home
    worker: Worker
    settings: dict[str, str]


class TeamVisit(NamedTuple):
    """A visit to a team's home."""

    visit: Visit
    worker: Worker
    settings: dict[str, str]

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with psycopg.connect(self.settings["DATABASE_URL"], autocommit=True) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def of_run(self, page: Page, column: str) -> str:
        """Return the state of the run on a page, or the waiter of its open question."""
        query = (
            "SELECT r.state, coalesce(max(q.waiter), '') FROM store_run r "
            "LEFT JOIN store_inquiry q ON q.run_id = r.id AND q.state = 'open' "
            "WHERE r.conversation_id = %s GROUP BY r.id"
        )
        ((state, waiter),) = self.ask(query, number_of(page))
        return str({"state": state, "waiter": waiter}[column])

    def logged(self) -> str:
        """Return what both have logged."""
        return self.visit.server.log_text() + self.worker.log_text()


@pytest.fixture(scope="module")
def team_home(
    postgres: Cluster, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TeamHome]:
    """Start a team whose processes log all they can, and put a run down after ten seconds."""
    folder = tmp_path_factory.mktemp("team")
    settings = {
        "DATABASE_URL": postgres.make_migrated(),
        "REDIS_URL": redis_url,
        "JPWEB_SECRET_KEY": SECRET_KEY,
        "JPWEB_RUNS": "workers",
        "JPWEB_LOG_LEVEL": "DEBUG",
        "JPWEB_SCRIPT_PACE_SECONDS": "0",
        "JPWEB_PARK_AFTER_SECONDS": "10",
    }
    worker = Worker(folder / "worker", settings=settings)
    try:
        with serve_home(Server(folder / "data", settings=dict(settings))) as home:
            yield TeamHome(home, worker, settings)
    finally:
        worker.close()


@pytest.fixture
def team(team_home: TeamHome, open_page: Pages) -> Iterator[TeamVisit]:
    """Visit the team; its worker works, whatever became of it before."""
    team_home.worker.ensure_started()
    visit = Visit(team_home.home, open_page)
    yield TeamVisit(visit, team_home.worker, team_home.settings)
    visit.leave()


def nowhere_in(team: TeamVisit, canary: str, traffic: str, *pages: Page) -> None:
    """Check every place that a team has; each holds what it should, so it was searched."""
    tables = rows(team.settings["DATABASE_URL"])
    assert "without a backup" in tables["store_journalentry"]
    assert {name.partition("_")[0] for name in tables} >= {"store", "procrastinate", "django"}
    team.ask("CHECKPOINT")
    ((files,),) = team.ask("SHOW data_directory")
    for part in ("base", "pg_wal"):
        assert evidence.find_traces("without a backup", Path(files) / part), f"{part} is searched"
    assert "jpweb.conversation" in traffic
    assert "'kind': 'conversation'" in traffic, "it is searched in clear"
    assert all("DEBUG" in process.log_text() for process in (team.visit.server, team.worker))
    pages_html = [*every_page(team.visit, path_of(pages[0])), *map(evidence.kept_by, pages)]
    texts = [*tables.values(), traffic, team.logged(), *pages_html]
    assert evidence.find_traces(canary, Path(files), *texts) == []
    for process in (team.visit.server, team.worker):
        assert evidence.find_traces(canary, process.data) == []


def up_to_the_secret_with_answers(page: Page) -> None:
    answer_question(page, BOOLEAN, "Yes")
    answer_question(page, SELECT, "without a backup")
    answer_question(page, TEXT, "a.md")
    find_card(page, SECRET)


@pytest.mark.parametrize("way", ["waiting", "parked"])
def test_a_secret_that_a_worker_takes_is_nowhere(team: TeamVisit, canary: str, way: str):
    page = team.visit.begin("Canary of a team")
    with tap_redis(team.settings["REDIS_URL"], SECRET_KEY) as read_traffic:
        up_to_the_secret_with_answers(page)
        if way == "parked":
            wait_until(lambda: team.of_run(page, "state") == "parked", "the run is parked")
            assert team.of_run(page, "waiter") == ""
        else:
            wait_until(lambda: team.of_run(page, "waiter") != "", "the worker waits")
        answer_question(page, SECRET, canary)
        expect(last_words(page)).to_contain_text("secret: received, not shown")
        expect(find_composer(page)).to_be_visible()
        traffic = read_traffic()
    assert "sealed" in traffic, "it went through Redis"
    expect(find_inquiries(page).last).to_have_attribute("data-outcome", "redacted")
    nowhere_in(team, canary, traffic, page)


def test_a_secret_for_a_worker_that_was_killed_is_nowhere(team: TeamVisit, canary: str):
    """Nobody comes in time; whoever typed it is told that it was dropped."""
    team.visit.pages.forgive("status of 422")
    page = team.visit.begin("Canary of the dead")
    with tap_redis(team.settings["REDIS_URL"], SECRET_KEY) as read_traffic:
        up_to_the_secret_with_answers(page)
        wait_until(lambda: team.of_run(page, "waiter") != "", "the worker waits")
        team.worker.kill()
        secret_card = find_card(page, SECRET)
        secret_card.get_by_label("Secret", exact=True).fill(canary)
        secret_card.get_by_role("button", name="Answer").click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("Your input was discarded", timeout=60_000)
        traffic = read_traffic()
    assert "sealed" in traffic
    assert page.get_by_label("Secret", exact=True).input_value() == ""
    nowhere_in(team, canary, traffic, page)
    dead = team.of_run(page, "waiter")
    team.worker.start()
    wait_until(lambda: team.of_run(page, "waiter") not in ("", dead), "the next one waits")
    answer_question(page, SECRET, canary)
    expect(last_words(page)).to_contain_text("secret: received, not shown")
    nowhere_in(team, canary, traffic, page)
