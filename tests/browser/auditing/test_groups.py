"""A group, from its name to the role that it gives."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit

# tests/web/views/workspaces/test_groups.py submits the same forms.
pytestmark = [pytest.mark.browser, pytest.mark.proof]


def test_owner_makes_a_group_and_gives_it_a_role(visit: Visit):
    visit.home.invite("Nora", "reader")
    page = visit.open("/groups")
    page.get_by_label("Name").fill("Night shift")
    page.get_by_role("button", name="Create").click()
    page.get_by_label("Person").select_option(label="Nora")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("[data-person=Nora]")).to_be_visible()
    row = page.locator("[data-workspace=Demo]")
    row.get_by_label("Role in Demo").select_option(label="Auditor")
    row.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("at least the role Auditor in Demo")
    check_accessibility(page)
    page.get_by_text("Delete this group…").click()
    page.get_by_role("button", name="Delete Night shift").click()
    expect(page).to_have_url(re.compile("/groups$"))
