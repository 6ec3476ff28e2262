from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import RequestFactory

from jpweb.store.database import scan_limits
from jpweb.web.security import rate_limits
from jpweb.web.security.rate_limits import RateLimit
from tests.web.reading import parse_page
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address
from tests.web.world import SignIns, World, undone


def test_admit_within_a_window_refuses_until_the_oldest_is_over():
    seconds = [0.0]
    limit = RateLimit(2, 60, lambda: seconds[0])
    assert limit.admit_event("ada") == 0
    seconds[0] = 30.5
    assert (limit.admit_event("ada"), limit.admit_event("ada")) == (0, 30)
    assert limit.admit_event("eve") == 0
    seconds[0] = 60.0
    assert (limit.admit_event("ada"), limit.admit_event("ada")) == (0, 31)


def test_admit_of_many_keys_forgets_the_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rate_limits, "MAX_KEYS", 2)
    limit = RateLimit(1, 60)
    assert [limit.admit_event(key) for key in "abc"] == [0, 0, 0]
    assert len(limit._times) == 2


@pytest.mark.parametrize(
    ("address", "other_address", "is_shared"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("no address", "no other address", False),
    ],
    ids=["one /64", "two /64s", "IPv4 in IPv6", "two of them", "two of IPv4", "none"],
)
def test_addresses_of_one_ipv6_network_share_a_count(
    monkeypatch: pytest.MonkeyPatch, address: str, other_address: str, is_shared: bool
):
    first, second = (
        RequestFactory().get("/", REMOTE_ADDR=text) for text in (address, other_address)
    )
    for limit in (rate_limits.REFUSED_LINK_LIMIT, rate_limits.SIGN_ON_LIMIT):
        monkeypatch.setattr(limit, "count", 1)
    assert rate_limits.refuse_link(first, "refused") is None
    assert rate_limits.refuse_sign_on(first) is None
    assert (rate_limits.refuse_link(second, "refused") is not None) is is_shared
    assert (rate_limits.refuse_sign_on(second) is not None) is is_shared


@pytest.mark.parametrize("path", ["/search?q=word", "/conversations/{conversation}/find?q=word"])
def test_searches_above_the_limit_get_429_with_one_line(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rate_limits.SEARCH_LIMIT, "count", 2)
    path = path.format(conversation=world.conversation.pk)
    reader, owner = world.client("reader"), world.client("owner")
    assert [reader.get(path).status_code for _ in range(3)] == [200, 200, 429]
    refusal = reader.get(path)
    assert int(refusal["Retry-After"]) in range(1, 61)
    assert "You searched 2 times within a minute. Try again in" in parse_page(refusal).text
    assert owner.get(path).status_code == 200


@pytest.mark.parametrize(
    "path", ["/conversations/{conversation}/find?q=word", "/audit?words=word", "/conversations?q=w"]
)
def test_search_that_takes_too_long_is_stopped_with_advice(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
):
    if connection.vendor != "sqlite":
        pytest.skip("the other database has a statement timeout")
    monkeypatch.setattr(scan_limits, "MAX_SCAN_SECONDS", 0.05)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    def search_slowly(execute: Any, sql: str, params: Any, *args: Any) -> Any:
        is_search = sql.startswith("SELECT") and "LIKE" in sql
        return execute(endless, None, *args) if is_search else execute(sql, params, *args)

    with connection.execute_wrapper(search_slowly):
        response = world.client("owner").get(path.format(conversation=world.conversation.pk))
    assert response.status_code == 503
    assert "It took longer than 5 seconds. Look for fewer" in parse_page(response).text


#: Routes that look for words of their address in the database.
WORD_ROUTES = {
    "audit", "audit-charts", "audit-csv", "audit-evidence", "audit-jsonl", "conversation-find",
    "conversation-neighbour", "conversations", "decisions", "decisions-csv", "decisions-evidence",
    "decisions-jsonl", "go", "search",
}  # fmt: skip
SOUGHT_WORD = "zweisam"


@contextmanager
def collect_searches() -> Iterator[list[str]]:
    """Yield the queries that look for the word, once they are executed."""
    searches: list[str] = []

    def note_search(execute: Any, sql: str, params: Any, *args: Any) -> Any:
        if sql.startswith("SELECT") and SOUGHT_WORD in repr(params):
            searches.append(sql)
        return execute(sql, params, *args)

    with connection.execute_wrapper(note_search):
        yield searches


def fill_limits(key: int) -> None:
    """Count as many searches of a person as are allowed."""
    for limit in (rate_limits.SEARCH_LIMIT, rate_limits.TYPING_LIMIT):
        for _ in range(limit.count):
            limit.admit_event(key)


def test_routes_that_look_for_words_refuse_too_many(world: World):
    query = {"q": SOUGHT_WORD, "words": SOUGHT_WORD, "list": f"q={SOUGHT_WORD}"}
    read_routes = [name for name, route in ROUTES.items() if route.method == "get"]
    addresses = {name: make_address(name, world) for name in read_routes}
    sign_ins = SignIns(world, "owner")
    faults = []
    for name, url in addresses.items():
        seeks = name in WORD_ROUTES
        with undone():
            client = sign_ins.client("owner")
            with collect_searches() as searches:
                # Any other route that looks for words does so, or refuses, at the limit.
                first_status = client.get(url, query).status_code if seeks else 0
            fill_limits(world.people["owner"].pk)
            with collect_searches() as later_searches:
                later_status = client.get(url, query).status_code
        if (
            (bool(searches), later_status == 429) != (seeks, seeks)
            or later_searches
            or max(first_status, later_status) >= 500
        ):
            faults.append(
                f"{name}: {first_status} after {len(searches)} searches,"
                f" {later_status} after {len(later_searches)}"
            )
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", ["/go", "/conversations", "/audit", "/audit/charts", "/audit.csv"])
def test_page_without_words_is_not_counted(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
):
    for limit in (rate_limits.SEARCH_LIMIT, rate_limits.TYPING_LIMIT):
        monkeypatch.setattr(limit, "count", 1)
    client = world.client("owner")
    assert [client.get(path).status_code for _ in range(2)] == [200, 200]


def test_palette_cannot_exhaust_its_limit():
    script = (settings.BASE_DIR / "static/js/palette.js").read_text()
    match = re.search(r"const TYPING_PAUSE_MS = (\d+);", script)
    assert match is not None
    limit = rate_limits.TYPING_LIMIT
    assert limit.count * int(match[1]) / 1000 >= limit.seconds


def test_refused_requests_of_an_address_are_logged_up_to_the_limit(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level("INFO", "jpweb.security")
    rate_limits.REFUSED_REQUEST_LIMIT.clear()
    request = RequestFactory().get("/")
    logger = logging.getLogger("django.security.DisallowedHost")
    for _ in range(rate_limits.REFUSED_REQUEST_LIMIT.count + 5):
        logger.error("Invalid host", exc_info=ValueError("x"), extra={"request": request})
    logger.error("Without a request")
    line = 'request refused from="127.0.0.1" reason="Invalid host"'
    rate_limits.REFUSED_REQUEST_LIMIT.clear()
    messages = [r.getMessage() for r in caplog.records if r.name == "jpweb.security"]
    assert messages == [
        *[line] * rate_limits.REFUSED_REQUEST_LIMIT.count,
        'request refused reason="Without a request"',
    ]
