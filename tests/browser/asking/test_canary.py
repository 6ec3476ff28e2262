"""A secret that was typed is nowhere afterwards."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
import redis
from playwright.sync_api import Page, expect
from psycopg import sql

from tests.browser import evidence
from tests.browser.pages import (
    BOOLEAN,
    DOWN,
    SECRET,
    SELECT,
    TEXT,
    Visit,
    answer,
    answer_all,
    card,
    composer,
    decline,
    inquiries,
    last_words,
    path_of,
    staying,
)
from tests.machine.fixtures import Live
from tests.machine.servers import Cluster
from tests.machine.serving import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def canary() -> str:
    return f"canary{secrets.token_hex(12)}"


@pytest.fixture
def talkative(live: Live, visiting: Callable[[Server], Visit]) -> Visit:
    """Visit a server of its own that logs all it can."""
    return visiting(live(JPWEB_SCRIPT_PACE="0", JPWEB_LOG_LEVEL="DEBUG"))


def up_to_the_secret(page: Page) -> None:
    for kind in (BOOLEAN, SELECT, TEXT):
        decline(page, kind)
    card(page, SECRET)


def every_page(visit: Visit, place: str) -> Iterator[str]:
    """Yield the text of every page that could show something of a conversation."""
    owner = visit.home.owner
    transcript = owner.get(place).text
    paths = {place, "/", "/questions", "/audit", "/audit.csv"}
    anchors = re.findall(r'id="(e-\w+)" data-kind', transcript)
    paths |= {f"{place}/events/{anchor}" for anchor in anchors}
    assert len(anchors) > 5
    for path in sorted(paths):
        reply = owner.get(path)
        assert reply.status == 200
        yield reply.text


def nowhere(visit: Visit, canary: str, *pages: Page) -> None:
    """Check every place there is."""
    place = path_of(pages[0])
    log = visit.server.log_text()
    assert "DEBUG" in log
    shown = [*every_page(visit, place), *map(evidence.kept_by, pages)]
    data = visit.server.data
    assert {path.suffix for path in data.glob("jpweb.sqlite3*")} > {".sqlite3"}
    assert evidence.traces("I am a script", data), "the search finds what is there"
    assert evidence.traces(canary, data, log, *shown) == []


def test_a_secret_that_was_answered_is_nowhere(talkative: Visit, canary: str):
    page = talkative.begin("Canary")
    answer_all(page, canary)
    expect(inquiries(page).last).to_have_attribute("data-outcome", "redacted")
    nowhere(talkative, canary, page)
    talkative.pages.forgive(DOWN)
    talkative.server.stop()
    assert evidence.traces(canary, talkative.server.data, talkative.server.log_text()) == []


def test_a_secret_typed_after_an_empty_one_was_refused_is_nowhere(talkative: Visit, canary: str):
    talkative.pages.forgive("status of 422")
    page = talkative.begin("Canary")
    up_to_the_secret(page)
    field = page.get_by_label("The secret")
    field.evaluate("field => field.required = false")
    card(page, SECRET).get_by_role("button", name="Answer").click()
    expect(page.get_by_role("alert")).to_have_text("Type the secret, or decline.")
    answer(page, SECRET, canary)
    expect(composer(page)).to_be_visible()
    nowhere(talkative, canary, page)


@pytest.mark.parametrize("javascript", [True, False])
def test_a_secret_that_came_too_late_is_nowhere(talkative: Visit, canary: str, javascript: bool):
    talkative.pages.forgive("status of 409")
    page = talkative.begin("Canary")
    up_to_the_secret(page)
    late = talkative.open(javascript=javascript)
    late.route_web_socket(re.compile("/ws$"), lambda _: None)
    late.goto(page.url)
    card(late, SECRET).get_by_label("The secret").fill(canary)
    decline(page, SECRET)
    late.get_by_role("button", name="Answer").click()
    expect(late.get_by_role("alert")).to_contain_text("Your answer was not used.")
    expect(late.get_by_text("What you typed")).to_have_count(0)
    nowhere(talkative, canary, page, late)


@pytest.mark.parametrize(("cookie", "ends_at"), [("jpweb_session", "Sign in"), ("jpweb_csrf", "")])
def test_a_secret_sent_without_the_right_to_is_nowhere(
    talkative: Visit, canary: str, cookie: str, ends_at: str
):
    talkative.pages.forgive("status of 403")
    page = talkative.begin("Canary")
    up_to_the_secret(page)
    other = talkative.open(path_of(page), javascript=False)
    other.get_by_label("The secret").fill(canary)
    other.context.clear_cookies(name=cookie)
    other.get_by_role("button", name="Answer").click()
    expect(other.get_by_role("heading", name=ends_at or None).first).to_be_visible()
    card(page, SECRET)
    nowhere(talkative, canary, page, other)


def rows(url: str) -> str:
    """Return every row of every table of a PostgreSQL database as text."""
    named = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(url) as connection:
        tables = [name for (name,) in connection.execute(named)]
        each = sql.SQL("SELECT {0}::text FROM {0}")
        found = [
            connection.execute(each.format(sql.Identifier(name))).fetchall() for name in tables
        ]
    return "\n".join(text for table in found for (text,) in table)


@contextmanager
def tapped(url: str) -> Iterator[Callable[[], str]]:
    """Listen to a Redis; what is yielded tells all that it was told, and all that it keeps."""
    with redis.Redis.from_url(url) as client, client.monitor() as monitor:

        def heard() -> str:
            client.echo("that is all")
            commands = [str(monitor.next_command())]
            while "that is all" not in commands[-1]:
                commands.append(str(monitor.next_command()))
            kept = [f"{key!r} {client.dump(key)!r}" for key in client.scan_iter()]
            return "\n".join(commands + kept)

        yield heard


def test_on_the_database_of_a_team_the_journey_is_the_same(
    live: Live,
    visiting: Callable[[Server], Visit],
    postgres: Cluster,
    redis_url: str,
    canary: str,
):
    url = postgres()
    server = live(
        DATABASE_URL=url, REDIS_URL=redis_url, JPWEB_SCRIPT_PACE="0", JPWEB_LOG_LEVEL="DEBUG"
    )
    visit = visiting(server)
    desk = visit.open("/questions")
    with tapped(redis_url) as heard:
        page = visit.begin("Team")
        with staying(page), staying(desk):
            card(desk, BOOLEAN)
            answer_all(page, canary)
            expect(last_words(page)).to_contain_text("secret: received, not shown")
            expect(desk.locator(".card.settled")).to_have_count(4)
        told = heard()
    outcomes = [each.get_attribute("data-outcome") for each in inquiries(page).all()]
    assert outcomes == [*["answered"] * 3, "redacted"]
    stored, shown = rows(url), list(every_page(visit, path_of(page)))
    assert "without a backup" in stored
    assert "conversation.changed" in told
    texts = [stored, told, server.log_text(), *shown, evidence.kept_by(page)]
    assert evidence.traces(canary, server.data, *texts) == []
