"""The form of the search page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.pages import Visit

pytestmark = pytest.mark.browser


def test_search_in_a_new_tab_leaves_the_filters_usable(visit: Visit):
    page = visit.open("/search?q=nightly")
    page.get_by_text("Filters", exact=True).click()
    with page.context.expect_page() as opening:
        page.get_by_role("button", name="Search", exact=True).last.click(modifiers=["Control"])
    expect(opening.value).to_have_url(re.compile(r"/search\?q=nightly$"))
    expect(page.get_by_role("combobox", name="Kind")).to_be_enabled()
