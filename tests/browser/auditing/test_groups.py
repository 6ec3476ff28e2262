"""A group, from its name to the role that it gives, and to its person who joins it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import check_accessibility
from tests.browser.pages import Visit

# tests/web/views/workspaces/test_groups.py submits the same forms.
pytestmark = [pytest.mark.browser, pytest.mark.proof]


def test_owner_makes_a_group_whose_person_joins_it(visit: Visit):
    nora = visit.home.invite("Nora", "reader")
    page = visit.open("/groups")
    page.get_by_label("Name").fill("Night shift")
    page.get_by_role("button", name="Create").click()
    page.get_by_label("Person").select_option(label="Nora")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("[data-person=Nora]")).to_contain_text("has not joined yet")
    row = page.locator("[data-workspace=Demo]")
    row.get_by_label("Role in Demo").select_option(label="Auditor")
    row.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("at least the role Auditor in Demo")
    check_accessibility(page)
    noras_page = visit.open("/", who=nora)
    expect(noras_page.locator(".notice")).to_contain_text("added you to the group “Night shift”")
    check_accessibility(noras_page)
    noras_page.get_by_role("link", name="Join or decline").click()
    expect(noras_page.locator("#groups")).to_contain_text("which is Auditor in Demo.")
    check_accessibility(noras_page)
    noras_page.get_by_role("button", name="Join Night shift").click()
    expect(noras_page.locator(".notice")).to_have_text("You joined the group Night shift.")
    expect(noras_page.get_by_role("button", name="Leave Night shift")).to_be_visible()
    page.get_by_text("Delete this group…").click()
    page.get_by_role("button", name="Delete Night shift").click()
    expect(page).to_have_url(re.compile("/groups$"))
