"""What pages tell a screen reader of parts that are replaced as a whole."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pages import BOOLEAN, NEW, Visit, find_card, path_of, wait_until_connected

pytestmark = pytest.mark.browser


def test_end_of_a_turn_is_announced(visit: Visit):
    page = visit.begin("Announce it")
    wait_until_connected(page)
    find_card(page, BOOLEAN)
    visit.home.owner.post_again(f"{path_of(page)}/stop", NEW)
    expect(page.locator("#announcer")).to_have_text("The last turn was stopped.")
