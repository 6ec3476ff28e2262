from __future__ import annotations

from collections.abc import Iterator

import pytest

from jpweb.runtime import presence


@pytest.fixture(autouse=True)
def _nobody() -> Iterator[None]:
    presence._pages.clear()
    yield
    presence._pages.clear()


def test_nobody_is_reachable_where_no_page_is_open():
    assert not presence.reachable(1)


def test_a_page_counts_in_the_workspaces_where_its_person_may_answer():
    presence.arrive("a", iter([1, 2]))
    assert presence.reachable(1)
    assert presence.reachable(2)
    assert not presence.reachable(3)


def test_a_person_is_reachable_until_the_last_page_is_gone():
    presence.arrive("a", [1])
    presence.arrive("b", [1])
    presence.leave("a")
    assert presence.reachable(1)
    presence.leave("b")
    presence.leave("b")
    assert not presence.reachable(1)


def test_a_page_that_says_hello_again_counts_as_it_says_last():
    presence.arrive("a", [1])
    presence.arrive("a", [2])
    assert not presence.reachable(1)
    assert presence.reachable(2)
