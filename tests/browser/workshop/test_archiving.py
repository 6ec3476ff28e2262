"""The composer of a page while its conversation is archived elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.pages import find_composer, path_of, stay_on_page, wait_until_connected
from tests.browser.workshop.shop import Shop, Stay
from tests.machine.vendors import Reply, Say

pytestmark = pytest.mark.browser

DRAFT = "It goes on with"


@pytest.fixture
def saved_shop(trusted_shop: Shop) -> Iterator[None]:
    """Save what the workshop's people begin to its files, whose archive is read-only."""
    workspace = trusted_shop.page.removesuffix("/tools")
    owner = trusted_shop.home.owner
    owner.post_again(f"{workspace}/writing", f"{workspace}/people", writing="current")
    yield
    owner.post_again(f"{workspace}/writing", f"{workspace}/people", writing="off")


@pytest.mark.usefixtures("saved_shop")
def test_draft_comes_back_with_the_field_that_an_archived_page_lacks(workshop: Stay):
    page = workshop.ask("Put me away", Reply(Say("Done.")))
    expect(find_composer(page)).to_be_visible()
    path = path_of(page)
    with stay_on_page(page):
        wait_until_connected(page)
        find_composer(page).press_sequentially(DRAFT)
        workshop.home.owner.post_again(f"{path}/change", path, do="archive")
        expect(page.locator("#composer")).to_contain_text("This conversation is archived")
        expect(find_composer(page)).to_have_count(0)
        workshop.home.owner.post_again(f"{path}/change", path, do="unarchive")
        expect(find_composer(page)).to_have_value(DRAFT)
