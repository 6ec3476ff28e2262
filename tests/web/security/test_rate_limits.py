from __future__ import annotations

import pytest
from django.test import RequestFactory

from jpweb.web.security import rate_limits
from jpweb.web.security.rate_limits import RateLimit
from tests.web.reading import parse_page
from tests.web.world import World


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
