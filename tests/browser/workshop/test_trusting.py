"""What an owner does on the page of tools before anything of a workspace runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import choose_workspace
from tests.browser.workshop.shop import NAME, Shop, Stay

pytestmark = pytest.mark.browser

COMMANDS = {
    "greet": ("program: sh", "argument 1: tools/greet.sh", "argument 2: {{tool.answers.name}}"),
    "deploy": ("program: python3", "argument 1: tools/deploy.py", "argument 2: {{tool}}"),
    "wild": ("program: sh", "argument 1: tools/wild.sh"),
    "kitchen": ("argument 1: tools/kitchen.py",),
}
WHY = {
    "greet": "not trusted yet",
    "deploy": "not trusted yet",
    "wild": "not trusted yet",
    "book_table": "its server is not trusted yet",
}


def row(page: Page, tool: str) -> Locator:
    return page.locator(f"tr[data-tool={tool}]")


def waiting(page: Page, name: str) -> Locator:
    return page.locator(f"[data-section=waiting] [data-trust-item={name}]")


def tools(visit: Stay) -> Page:
    """Open the page as a person gets to it."""
    page = visit.open()
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name=f"Tools of {NAME}").click()
    return page


def save(page: Page, overrides: str) -> None:
    page.get_by_label("Overrides (TOML)").fill(overrides)
    page.get_by_role("button", name="Save overrides").click()
    expect(page.get_by_text("Saved the overrides.")).to_be_visible()


def trust(page: Page, name: str) -> None:
    page.get_by_role("button", name=f"Trust {name}", exact=True).click()
    expect(page.get_by_text(f"Trusted: {name}.")).to_be_visible()


@pytest.fixture
def doubted_shop(workshop: Stay) -> Iterator[Shop]:
    """Return the shared workshop with nothing trusted; all is again once the test has ended."""
    workshop.shop.undo_trust()
    yield workshop.shop
    workshop.shop.open_up()


def test_tools_of_a_workspace_are_offered_once_an_owner_trusts_them(
    workshop: Stay, doubted_shop: Shop
):
    page = tools(workshop)
    for tool, reason in WHY.items():
        expect(row(page, tool)).to_have_attribute("data-offered", "no")
        expect(row(page, tool).locator("[data-reason-text]")).to_have_text(reason)
    for name, lines in COMMANDS.items():
        for line in lines:
            expect(waiting(page, name).locator("pre")).to_contain_text(line)
    check_accessibility(page)
    save(page, doubted_shop.overrides)
    address = f"requests and key go to: {doubted_shop.model.base_url}"
    expect(waiting(page, "anthropic").locator("pre")).to_contain_text(address)
    expect(page.locator("tr[data-provider=anthropic]")).to_contain_text("ANTHROPIC_API_KEY set")
    for name in (*COMMANDS, "anthropic"):
        trust(page, name)
    for tool in WHY:
        expect(row(page, tool)).to_have_attribute("data-offered", "yes")
    expect(page.locator("[data-section=waiting]")).to_have_count(0)
    expect(page.locator("dd[data-model]")).to_have_text("anthropic/claude-sonnet-4-6")
    check_under_proof(page)


@pytest.fixture
def config(workshop: Stay) -> Iterator[Path]:
    """Return the shared workshop's configuration, which is as before once the test has ended."""
    file = workshop.shop.root / ".jp" / "config.toml"
    before = file.read_text()
    yield file
    file.write_text(before)
    workshop.shop.open_up()


@pytest.mark.proof  # tests/web/views/workspaces/test_tools has it
def test_changed_command_waits_for_trust_and_shows_its_difference(workshop: Stay, config: Path):
    page = tools(workshop)
    before = config.read_text()
    config.write_text(before.replace("sh tools/greet.sh {{", "sh tools/other.sh --all {{"))
    page.reload()
    expect(row(page, "greet").locator("[data-reason-text]")).to_have_text(
        "changed since it was trusted"
    )
    card = waiting(page, "greet")
    expect(card).to_have_attribute("data-trust-state", "changed")
    expect(card.locator("del").first).to_have_text(
        re.compile("^was: .* argument 1: tools/greet.sh$")
    )
    expect(card.locator("ins").first).to_have_text("now: + argument 1: tools/other.sh")
    expect(row(page, "deploy")).to_have_attribute("data-offered", "yes")
    check_accessibility(page)
    config.write_text(config.read_text().replace("--all", "--none"))
    page.get_by_role("button", name="Trust greet").click()
    expect(
        page.get_by_text("has changed since you opened the page. Nothing was trusted")
    ).to_be_visible()
    expect(waiting(page, "greet").locator("ins").nth(1)).to_contain_text("--none")
    trust(page, "greet")
    expect(row(page, "greet")).to_have_attribute("data-offered", "yes")


@pytest.mark.proof  # tests/web/views/workspaces/test_tools has it
def test_unreadable_configuration_is_shown_and_stops_turns(workshop: Stay, config: Path):
    shop = workshop.shop
    page = workshop.open("/conversations/new")
    choose_workspace(page, NAME)
    page.get_by_label("First message").fill("Too early")
    before = config.read_text()
    config.write_text(before + "\n[broken\n")
    workshop.pages.forgive("status of 422")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("config.toml")
    expect(page.get_by_label("First message")).to_have_value("Too early")
    page.goto(f"{shop.server.url}/conversations/new")
    expect(page.get_by_role("option", name=f"{NAME} (can't start)")).to_be_disabled()
    page.get_by_role("link", name=f"Tools of {NAME}").click()
    expect(page.get_by_role("alert")).to_contain_text("Invalid configuration.")
    expect(page.locator("[data-problem]")).to_contain_text("config.toml")
    check_accessibility(page)
    config.write_text(before)
    page.reload()
    expect(page.locator("[data-problem]")).to_have_count(0)


def test_overrides_in_writing_outlive_a_reload_until_they_are_discarded(workshop: Stay):
    page = workshop.open(workshop.shop.page)
    field = page.get_by_label("Overrides (TOML)")
    saved_text = field.input_value()
    field.fill("# half")
    page.reload()
    expect(field).to_have_value("# half")
    check_under_proof(page)
    page.get_by_role("button", name="Discard").click()
    expect(field).to_have_value(saved_text)
    expect(field).to_be_focused()
    page.reload()
    expect(field).to_have_value(saved_text)
    expect(page.get_by_role("button", name="Discard")).to_be_hidden()


@pytest.mark.proof  # tests/web/views/workspaces/test_tools and tests/web/security have it
def test_a_reader_sees_the_tools_and_can_change_nothing(workshop: Stay):
    reader = workshop.home.invite("Rita the reader", "reader", workspace=NAME)
    page = workshop.open(workshop.shop.page, who=reader)
    expect(row(page, "greet")).to_have_attribute("data-offered", "yes")
    expect(page.locator("main form")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("Overrides (TOML)")
    check_under_proof(page)
    for act in ("trust", "withdraw", "switch", "overrides"):
        reply = reader.post(f"{workshop.shop.page}/{act}", item="x", tool="greet", to="off")
        assert reply.status == 403
