"""The server ends without a word while somebody is asked whether a call may run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import (
    DOWN,
    find_composer,
    find_waiting_count,
    last_words,
    wait_until_connected,
)
from tests.browser.workshop.shop import Shop, find_call, find_prompt, visit_workshop
from tests.machine.browsing import Pages
from tests.machine.vendors import Call, Reply, Say

pytestmark = pytest.mark.browser


#: Of prompts, questions and runs those that have not ended.
COUNTS = (
    "SELECT count(*) FROM store_approval WHERE state = 'open'",
    "SELECT count(*) FROM store_inquiry WHERE state = 'open'",
    "SELECT count(*) FROM store_run WHERE state = 'running'",
)


def open_rows(shop: Shop) -> list[int]:
    path = f"file:{shop.server.data / 'jpweb.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(path, uri=True)) as database:
        return [database.execute(count).fetchone()[0] for count in COUNTS]


@pytest.mark.proof  # test_reconnecting kills one too
def test_run_of_a_killed_server_continues_with_its_approval_card(
    new_shop: Callable[[], Shop], open_page: Pages
):
    shop = new_shop()
    shop.open_up()
    visit = visit_workshop(shop, open_page)
    visit.pages.forgive(DOWN)
    echo = Reply(Call("echo", {"words": "hello"}, id="echo_1"))
    page = visit.ask("Killed", echo, Reply(Say("Back again.")))
    wait_until_connected(page)
    find_prompt(page, "run")
    before = open_rows(shop)
    shop.server.kill()
    expect(page.locator("#connection")).to_be_visible()
    shop.server.start()
    expect(page.locator("#connection")).to_be_hidden(timeout=20_000)
    expect(page.get_by_text("Resumed after an interruption")).to_be_visible()
    expect(find_waiting_count(page)).to_have_attribute("data-count", "1")
    assert before == open_rows(shop) == [1, 0, 1]
    check_accessibility(page)
    find_prompt(page, "run").get_by_role("button", name="Allow once").click()
    expect(last_words(page)).to_contain_text("Back again.")
    expect(find_composer(page)).to_be_visible()
    expect(page.locator(".turn-head")).to_have_count(1)
    expect(find_call(page, "echo").locator("[data-kind=tool_call_response]")).to_have_count(1)
    assert open_rows(shop) == [0, 0, 0]
