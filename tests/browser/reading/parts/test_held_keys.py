"""Keys that are held down in lists."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pages import Visit

pytestmark = pytest.mark.browser


def test_held_key_archives_and_pins_no_conversation(visit: Visit):
    visit.begin_unseen("Held roses")
    page = visit.open("/conversations?q=Held+roses")
    posts: list[str] = []
    page.on("request", lambda request: posts.extend([request.post_data or ""]))
    page.keyboard.press("j")
    for key in ("e", "p"):
        page.locator(":focus").dispatch_event("keydown", {"key": key, "repeat": True})
    page.keyboard.press("e")
    expect(page.locator(".notice.success")).to_contain_text("Archived “Held roses”")
    assert len([post for post in posts if post]) == 1
