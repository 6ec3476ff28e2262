"""Permission and delivery prompts of a run that another process left in the database.

The row is all that a page needs, so the cards can be seen without a model that calls a tool.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import (
    Home,
    Visit,
    find_waiting_count,
    open_decline,
    stay_on_page,
    wait_until_connected,
)
from tests.machine.browsing import PHONE
from tests.machine.serving import ROOT
from tests.machine.sizes import IS_PROOF
from tests.machine.templates import inherit_environment

pytestmark = pytest.mark.browser

RUN = ("run", {"described": "vault (local)", "arguments": {"path": "a.md"}})
RESULT = ("deliver", {"content": "All done.", "is_error": False})
ERROR = ("deliver", {"content": "It broke.", "is_error": True})


class Seeds:
    """Conversations whose runs no process executes."""

    def __init__(self, seeder: subprocess.Popen[str]) -> None:
        self._seeder = seeder
        self._runs: list[int] = []

    def __call__(self, *prompts: tuple[str, dict[str, Any]]) -> str:
        """Return the path of a new conversation in which these prompts wait."""
        run, conversation = self._tell(prompts)
        self._runs.append(run)
        return f"/conversations/{conversation}"

    def end(self) -> None:
        for run in self._runs:
            self._tell(run)

    def _tell(self, message: object) -> list[int]:
        assert self._seeder.stdin
        assert self._seeder.stdout
        print(json.dumps(message), file=self._seeder.stdin, flush=True)
        reply: list[int] = json.loads(self._seeder.stdout.readline())
        return reply


@pytest.fixture(scope="module")
def seeder(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Start a process beside the shared server that begins and ends runs in its database."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.browser.asking.seeding"],
        cwd=ROOT,
        env=inherit_environment() | {"JPWEB_DATA": str(home.server.data)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def seeds(seeder: subprocess.Popen[str]) -> Iterator[Seeds]:
    seeder_client = Seeds(seeder)
    yield seeder_client
    seeder_client.end()


def prompt(page: Page, kind: str) -> Locator:
    """Return the one open card of a kind of prompt."""
    locator = page.locator(f".card[data-outcome=open][data-approval-kind={kind}]")
    expect(locator).to_have_count(1)
    return locator


def find_settled_card(page: Page) -> Locator:
    return page.locator(".card.settled[data-kind=approval]")


@pytest.mark.proof  # tests/web/views/test_live_prompts has it
def test_a_decision_reaches_every_page_without_a_reload(visit: Visit, seeds: Seeds):
    page = visit.open(seeds(RUN))
    inbox_page, phone = visit.open("/questions"), visit.open("/questions", size=PHONE)
    for tab in (page, inbox_page, phone):
        wait_until_connected(tab)
        expect(prompt(tab, "run")).to_contain_text("vault (local)")
        expect(find_waiting_count(tab)).to_have_attribute("data-count", "1")
    with stay_on_page(page), stay_on_page(inbox_page), stay_on_page(phone):
        prompt(phone, "run").get_by_role("button", name="Allow once").click()
        for tab in (page, inbox_page, phone):
            expect(find_settled_card(tab)).to_contain_text("Allowed")
            expect(find_settled_card(tab)).to_contain_text("by Owner")
            expect(find_waiting_count(tab)).to_have_attribute("data-count", "0")
    page.reload()
    expect(page.locator(".card")).to_have_count(0)


@pytest.mark.proof  # three of them in make test, below
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Deny for this turn", "Denied, for this turn"),
        ("Allow for this turn", "Allowed, for this turn"),
        ("Deny", "Denied"),
    ],
)
def test_button_of_a_permission_records_its_decision(
    visit: Visit, seeds: Seeds, name: str, text: str
):
    page = visit.open(seeds(RUN))
    if name.startswith("Deny"):
        expect(open_decline(prompt(page, "run"))).to_be_focused()
    prompt(page, "run").get_by_role("button", name=name, exact=True).click()
    expect(find_settled_card(page)).to_contain_text(text)


@pytest.mark.proof  # "Don't send" by a key in make test
@pytest.mark.parametrize(
    ("name", "text"), [("Don't send", "Not sent to the model"), ("Send", "Sent to the model")]
)
def test_button_of_a_result_records_its_decision(visit: Visit, seeds: Seeds, name: str, text: str):
    page = visit.open(seeds(RESULT))
    prompt(page, "deliver").get_by_role("button", name=name, exact=True).click()
    expect(find_settled_card(page)).to_contain_text(text)


def test_approvals_are_decided_by_buttons_and_counted_while_they_wait(visit: Visit, seeds: Seeds):
    page = visit.open(seeds(RUN, RUN, RESULT))
    counts, cards = page.locator("#counts"), page.locator(".card[data-outcome=open]")
    settled = find_settled_card(page)
    expect(counts).to_contain_text("3 approvals needed")
    expect(open_decline(cards.first)).to_be_focused()
    cards.first.get_by_role("button", name="Deny for this turn").click()
    expect(settled.filter(has_text="Denied, for this turn")).to_have_count(1)
    expect(counts).to_contain_text("2 approvals needed")
    cards.first.get_by_role("button", name="Allow for this turn").click()
    expect(settled.filter(has_text="Allowed, for this turn")).to_have_count(1)
    expect(counts).to_contain_text("1 approval needed")
    prompt(page, "deliver").get_by_role("button", name="Send", exact=True).click()
    expect(settled.filter(has_text="Sent to the model")).to_have_count(1)
    expect(counts).not_to_contain_text("needed")


def test_control_enter_presses_the_focused_button_or_the_first_of_a_form(
    visit: Visit, seeds: Seeds
):
    page = visit.open(seeds(RESULT))
    page.locator("#edit-menu summary").click()
    field = page.locator("#edit-menu").get_by_label("Title")
    field.fill("Renamed by keys")
    field.press("Control+Enter")
    expect(page.locator("#heading")).to_have_text("Renamed by keys")
    prompt(page, "deliver").get_by_role("button", name="Don't send").press("Control+Enter")
    expect(find_settled_card(page)).to_contain_text("Not sent to the model")


@pytest.mark.proof  # a button of a result in make test
def test_control_enter_presses_the_focused_button_of_an_opened_decline(visit: Visit, seeds: Seeds):
    page = visit.open(seeds(RUN))
    open_decline(prompt(page, "run"))
    button = prompt(page, "run").get_by_role("button", name="Deny for this turn")
    button.press("Control+Enter")
    expect(find_settled_card(page)).to_contain_text("Denied, for this turn")


@pytest.mark.proof  # a variant
def test_enter_in_the_reason_skips_and_runs_nothing(visit: Visit, seeds: Seeds):
    page = visit.open(seeds(RUN))
    open_decline(prompt(page, "run")).fill("Not this file")
    page.keyboard.press("Enter")
    expect(find_settled_card(page)).to_contain_text("Denied")
    expect(find_settled_card(page)).to_contain_text("Not this file")


def test_edited_arguments_get_an_error_if_invalid_and_survive_a_reload(visit: Visit, seeds: Seeds):
    visit.pages.forgive("status of 422")
    page = visit.open(seeds(RUN))
    card = prompt(page, "run")
    card.get_by_text("Edit arguments…").click()
    field = card.get_by_label("The tool runs with these arguments")
    field.fill('{"path": ')
    field.press("Control+Enter")
    expect(card.get_by_role("alert")).to_contain_text("Invalid JSON")
    expect(field).to_have_value('{"path": ')
    check_accessibility(page, "#inbox")
    field.fill('{"path": "b.md"}')
    open_decline(card).fill("Not this file")
    page.reload()
    expect(field).to_be_visible()
    expect(field).to_have_value('{"path": "b.md"}')
    expect(open_decline(card)).to_have_value("Not this file")
    card.get_by_role("button", name="Allow once").click()
    expect(find_settled_card(page)).to_contain_text("Allowed, edited")
    assert "approval" not in str(page.evaluate("Object.keys(sessionStorage)"))


@pytest.mark.proof  # on the approval's own page in make test
def test_approval_draft_is_shown_when_another_person_decides(visit: Visit, seeds: Seeds):
    path = seeds(RESULT)
    page, second_page = visit.open(path), visit.open(path)
    wait_until_connected(page)
    card = prompt(page, "deliver")
    card.get_by_text("Edit result…").click()
    card.get_by_label("Sent to the model").fill("Half a thought")
    prompt(second_page, "deliver").get_by_role("button", name="Send", exact=True).click()
    expect(find_settled_card(page).get_by_label("Your draft (not sent)")).to_have_value(
        "Half a thought"
    )


def test_page_of_an_approval_shows_its_decision_and_gives_the_draft_back(
    visit: Visit, seeds: Seeds
):
    other_page = visit.open(seeds(RUN))
    key = prompt(other_page, "run").get_attribute("data-approval")
    page = visit.open(f"/prompts/{key}")
    wait_until_connected(page)
    card = prompt(page, "run")
    card.get_by_text("Edit arguments…").click()
    card.get_by_label("The tool runs with these arguments").fill('{"path": "b.md"}')
    prompt(other_page, "run").get_by_role("button", name="Allow once").click()
    expect(find_settled_card(page)).to_contain_text("Allowed")
    draft = find_settled_card(page).get_by_label("Your draft (not sent)")
    expect(draft).to_have_value('{"path": "b.md"}')


@pytest.mark.proof  # a variant of test_socket_answers
def test_a_key_pressed_twice_runs_nothing(visit: Visit, seeds: Seeds):
    """After a decision the focus goes to the next card as a whole, and to no button of it."""
    page = visit.open(seeds(RESULT, RUN))
    wait_until_connected(page)
    prompt(page, "deliver").get_by_role("button", name="Send", exact=True).focus()
    page.keyboard.press("Enter")
    expect(prompt(page, "run")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(find_settled_card(page)).to_have_count(1)
    prompt(page, "run")


@pytest.mark.proof  # a variant
def test_the_places_in_the_queue_follow(visit: Visit, seeds: Seeds):
    page = visit.open(seeds(RUN, RESULT))
    wait_until_connected(page)
    expect(prompt(page, "deliver").locator(".position")).to_have_text("2 of 2")
    open_decline(prompt(page, "run"))
    prompt(page, "run").get_by_role("button", name="Deny", exact=True).click()
    expect(prompt(page, "deliver").locator(".position")).to_have_text("")


@pytest.mark.proof  # edited arguments above, and workshop/test_permission looks at the others
def test_approval_cards_are_accessible(visit: Visit, seeds: Seeds):
    editable = {"edit": True}
    page = visit.open(seeds(RUN, (ERROR[0], ERROR[1] | editable), (RUN[0], RUN[1] | editable)))
    check_accessibility(page, "#inbox")
    page.goto(f"{visit.server.url}/questions")
    check_under_proof(page)
    page.locator(".card").first.get_by_role("button", name="Allow once").click()
    expect(find_settled_card(page)).to_have_count(1)
    check_accessibility(page, ".card.settled")


def test_approval_is_claimed_edited_and_decided_without_scripts(visit: Visit, seeds: Seeds):
    visit.pages.forgive("status of 422")
    page = visit.open(seeds(RUN), javascript=False)
    prompt(page, "run").get_by_role("link", name="I'm on it").click()
    expect(page).to_have_url(re.compile("/claim/choose$"))
    if IS_PROOF:
        check_accessibility(visit.open(page.url.removeprefix(visit.server.url)))
    page.get_by_role("button", name="I'm on it").click()
    card = prompt(page, "run")
    expect(card.locator(".claim-holder")).to_contain_text("is on it")
    card.get_by_text("Edit arguments…").click()
    card.get_by_label("The tool runs with these arguments").fill("{")
    card.get_by_role("button", name="Allow once").click()
    expect(card.get_by_role("alert")).to_contain_text("Invalid JSON")
    card.get_by_label("The tool runs with these arguments").fill("{}")
    card.get_by_role("button", name="Allow once").click()
    page.wait_for_url("**/conversations/*")
    expect(page.locator(".card")).to_have_count(0)
