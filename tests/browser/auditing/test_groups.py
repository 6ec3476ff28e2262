"""A group, from its name to the role that it gives, and to its person who joins it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

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
    expect(noras_page.locator("#groups")).to_contain_text("“Night shift”: Auditor in Demo.")
    check_accessibility(noras_page)
    noras_page.get_by_role("button", name="Join Night shift").click()
    expect(noras_page.locator(".notice")).to_have_text("You joined the group Night shift.")
    _check_removal(visit)
    _check_departure(page, noras_page)
    page.get_by_text("Delete this group…").click()
    page.get_by_role("button", name="Delete Night shift").click()
    expect(page).to_have_url(re.compile("/groups$"))


def _check_removal(visit: Visit) -> None:
    """Check that People asks before it takes the group out."""
    people_page = visit.open(f"/workspaces/{visit.home.workspaces()['Demo']}/people")
    people_page.get_by_text("Remove… Night shift").click()
    group_row = people_page.locator("[data-group='Night shift']")
    expect(group_row).to_contain_text("from Demo? 1 person loses the role that it gives them.")
    expect(group_row.get_by_role("button", name="Remove Night shift")).to_be_visible()
    check_accessibility(people_page)


def _check_departure(page: Page, noras_page: Page) -> None:
    """Have Nora leave, and check that the group's page says so."""
    noras_page.get_by_role("button", name="Leave Night shift").click()
    expect(noras_page.locator(".notice")).to_have_text("You left the group Night shift.")
    page.reload()
    expect(page.get_by_label("Declined or left")).to_contain_text("Nora left")
    check_accessibility(page)
