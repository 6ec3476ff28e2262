"""No page bars anybody: each that can be opened, light and dark, on a desk and on a phone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jpweb.web.views.help.pages import PAGES as HELP_PAGES
from tests.browser.library import MIDDLE
from tests.browser.looks import check_accessibility, check_under_proof
from tests.browser.pages import (
    BOOLEAN,
    SECRET,
    SELECT,
    TEXT,
    Home,
    Visit,
    decline_question,
    find_card,
)
from tests.browser.reading.windows import LASTING, long_one
from tests.machine.browsing import PHONE, WIDE, Pages
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.sizes import IS_PROOF, choose_size, mark_proof
from tests.web.security.route_rules import ROUTES

pytestmark = pytest.mark.browser

#: Of each page, by its route, the addresses at which it looks different: of the demo. The first is
#: looked at by ``make test``, the others under proof alone.
PAGES = {
    "home": ["/"],
    "conversations": [
        "/conversations",
        "/conversations?sort=waiting",
        "/conversations?sort=length",
        "/conversations?q=no+such&origin=native&label=x",
        "/conversations?label=tour&has=problem&odd=1",
        "/conversations?archived=1",
    ],
    "conversation-new": ["/conversations/new"],
    "conversation-edit": ["{conversation}/facts"],
    "search": [
        "/search?q=backup",
        "/search",
        "/search?q=zzzzz+colour:green",
        "/search?q=kind:question&sort=best",
    ],
    "questions": ["/questions"],
    "go": ["/go", "/go?q=zzzz"],
    "settings": ["/settings"],
    "question": ["{question}"],
    "question-context": ["{question}/context"],
    "question-claim-choose": ["{question}/claim/choose"],
    "question-snooze-choose": ["{question}/snooze/choose"],
    "event": ["{conversation}/events/{anchor}"],
    "comments": ["{conversation}/comments/{anchor}"],
    "bookmarks": ["/bookmarks"],
    "mentions": ["/mentions"],
    "event-redact": ["{conversation}/events/{anchor}/redaction/edit"],
    "conversation-outline": ["{conversation}/outline?turn=1"],
    "download": ["/download"],
    "audit": ["/audit?outcome=cancelled", "/audit", "/audit?tool=nobody"],
    "decisions": [
        "/audit/decisions",
        "/audit/decisions?kind=dance",
        "/audit/decisions?view=timeline",
    ],
    "audit-charts": ["/audit/charts", "/audit/charts?tool=nobody"],
    "secrets": ["/audit/secrets", "/audit/secrets?state=dismissed"],
    "ledger": ["/audit/ledger", "/audit/ledger?act=read", "/audit/ledger?act=dance"],
    "reviews": ["/audit/reviews"],
    "review-queue": ["/audit/reviews/cancelled", "/audit/reviews/assigned"],
    "conversation-reviews": ["{conversation}/reviews"],
    "readers": ["/account/readers"],
    "notifications": ["/notifications"],
    "account": ["/account"],
    "second-factor": ["/account/second-factor"],
    "help": ["/help"],
    "help-page": [f"/help/{name}" for name in HELP_PAGES],
    "join": ["/join"],
    "workspace-add": ["/workspaces/add"],
    "people": ["/workspaces/{workspace}/people"],
    "question-settings": ["/workspaces/{workspace}/waiting"],
    "groups": ["/groups"],
    "tools": ["/workspaces/{workspace}/tools"],
}
#: The same, of a conversation that is too long for a page.
LONG = {
    "conversation": [
        f"?at={MIDDLE}&q=bed",
        "",
        "?at=end#composer",
        "?show=rest",
        f"?at={MIDDLE}",
        f"?at={MIDDLE}&show=person,problems",
    ],
    "conversation-find": ["/find?q=bed", "/find", "/find?q=no+such+word"],
}
#: Pages that are looked at under proof alone, and what has their parts in ``make test``.
PROVEN = {
    "bookmarks": "comments",
    "conversation-edit": "conversation-new",
    "conversation-find": "search",
    "conversation-outline": "conversation",
    "conversation-reviews": "views/test_views",
    "decisions": "audit",
    "download": "account",
    "event": "comments",
    "go": "browsing/test_palette",
    "groups": "auditing/test_groups",
    "help": "help-page",
    "home": "browsing/test_lists",
    "join": "sign-in",
    "mentions": "comments",
    "question-claim-choose": "asking/test_prompts",
    "question-context": "question",
    "question-settings": "people",
    "question-snooze-choose": "asking/test_prompts",
    "readers": "secrets",
    "review-queue": "reviews",
    "second-factor": "reading/test_second_factor",
    "workspace-add": "conversation-new",
}
#: What a long conversation's page has that others do not.
LONG_PARTS = "#find, .toolbar, .load-more, #outline, .site-header"
#: Pages that take more to come by, and the tests that look at them.
ELSEWHERE = {
    "approval": "asking/test_prompts",
    "approval-claim-choose": "asking/test_prompts",
    "workspace-files": "browsing/test_adding",
    "group": "auditing/test_groups",
    "secret": "auditing/test_suspected_secrets",
    "answer-link": "asking/test_links",
    "sign-in": "here",
    "sign-in-code": "reading/test_second_factor",
    "conversation-raw": "views/test_views",
    "conversation-compacted": "views/test_views",
    "conversation-configuration": "views/test_views",
    "conversation-timeline": "views/test_views",
    "conversation-thread": "views/test_views",
}
#: What is read by GET and is no page.
NO_PAGE = {
    "approval-call", "audit-csv", "comment-next", "conversation-export", "conversation-neighbour",
    "conversation-step", "event-part",
    "event-text", "event-whole", "ledger-file", "ledger-verifier", "personal-data", "static-file",
    "decisions-csv", "decisions-evidence", "decisions-jsonl", "ledger-csv", "ledger-jsonl",
    "review-queue-csv", "review-queue-evidence", "review-queue-jsonl",
    "secrets-csv", "secrets-jsonl",
    "audit-jsonl", "audit-evidence", "conversation-evidence",
    "evidence-verifier",
    "sign-on-callback", "service-worker", "notifications-waiting",
}  # fmt: skip
#: More addresses than any page has.
MOST = 100
OLD = "Old and odd: written by other versions"
TOUR = "A tour of questions and answers"
_ANCHOR = re.compile(r'id="(e-\w+)" data-kind="tool_call_request"')
_QUESTION = re.compile(r'href="(/questions/\d+)"')


def test_accessibility_checks_cover_all_get_routes():
    get_pages = {name for name, route in ROUTES.items() if route.method == "get"}
    looked_at = {*PAGES, *LONG, *ELSEWHERE, *NO_PAGE}
    assert get_pages - looked_at == set(), "pages that nobody looks at: name their addresses here"
    assert looked_at - get_pages == set(), "pages that are gone"


@pytest.fixture(scope="module")
def keys(home: Home) -> dict[str, str]:
    """Return what stands for the keys in an address."""
    listed = home.owner.get("/conversations?q=tour").text
    conversation = re.search(rf'href="(/conversations/\d+)"[^>]*>(?:[^<]|<(?!/a))*{TOUR}', listed)
    assert conversation
    text = home.owner.get(conversation[1]).text
    anchor, question = _ANCHOR.search(text), _QUESTION.search(text)
    assert anchor
    assert question
    return {
        "conversation": conversation[1],
        "anchor": anchor[1],
        "question": question[1],
        "workspace": home.workspaces()["Demo"],
    }


def list_names(pages: Mapping[str, object]) -> list[Any]:
    """Return the pages' names as cases, of which some are marked as proof."""
    quick_names = [name for name in pages if name not in PROVEN]
    return [*quick_names, *mark_proof(*(name for name in pages if name in PROVEN))]


@pytest.mark.parametrize("name", list_names(PAGES))
def test_page_is_accessible(visit: Visit, keys: dict[str, str], name: str):
    page = visit.sign_in()
    visit.pages.forgive("status of 422 .*=dance")  # an unknown choice
    for address in PAGES[name][: choose_size(1, MOST)]:
        page.goto(visit.server.url + address.format(**keys))
        expect(page.locator(".menu summary").first).to_be_visible()
        check_accessibility(page)


@pytest.mark.parametrize("name", list_names(LONG))
def test_page_of_a_long_conversation_is_accessible(shelf: Visit, name: str):
    path = long_one(shelf)
    page = shelf.sign_in()
    for address in LONG[name][: choose_size(1, MOST)]:
        page.goto(shelf.server.url + path + address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_accessibility(page, "" if IS_PROOF else LONG_PARTS)


def test_menu_is_accessible(visit: Visit):
    page = visit.open("/account")
    page.locator(".menu summary").first.click()
    check_accessibility(page, ".menu")


def test_error_page_is_accessible(visit: Visit):
    visit.pages.forgive("status of 40[0345]")
    page = visit.open("/no-such-page")
    check_refusal_page(page, "Page not found")
    page.goto(visit.server.url + "/conversations/new")
    page.context.clear_cookies(name="jpweb_csrf")
    page.get_by_label("First message").fill("Nothing")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_under_proof(page)
    page.context.clear_cookies()
    page.goto(visit.server.url + "/sign-in#used-up")
    expect(page.get_by_role("alert")).to_contain_text("is invalid")
    check_refusal_page(page, "Sign in")


@pytest.mark.proof  # their parts are those of the pages above
def test_page_of_another_refusal_is_accessible(visit: Visit):
    visit.pages.forgive("status of 40[0345]")
    page = visit.open("/account/second-factor/confirm")
    check_refusal_page(page, "Nothing to show here")
    reader = visit.open("/audit", who=visit.home.invite("Reader of pages", "reader"))
    check_refusal_page(reader, "You don't have permission")
    page.context.clear_cookies()
    page.goto(visit.server.url + "/")
    check_refusal_page(page, "Sign in")


@pytest.mark.proof  # starts a server of its own
def test_bad_request_page_is_accessible(live: Live, open_page: Pages):
    open_page.forgive("status of 400")
    check_refusal_page(open_page(live().url.replace("127.0.0.1", "other.localhost")), "Bad request")


def check_refusal_page(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    check_accessibility(page)


@pytest.mark.parametrize(
    "title",
    [
        TOUR,
        pytest.param("A night with nobody at the desk", marks=pytest.mark.proof),
        pytest.param("What hostile text looks like here", marks=pytest.mark.proof),
        pytest.param(OLD, marks=pytest.mark.proof),
    ],
)
def test_conversation_is_accessible_collapsed_and_expanded(visit: Visit, title: str):
    archived = "&archived=1" if title == OLD else ""
    page = visit.open(f"/conversations?q={title.split()[1]}{archived}")
    page.get_by_role("link", name=title).click()
    page.wait_for_url(re.compile(r"/conversations/\d+"))
    page.wait_for_load_state("load")  # the buttons work by then
    check_under_proof(page)
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("#transcript .fold:not([open])")).to_have_count(0)
    # What is fetched on unfolding has come.
    wait_until(lambda: not page.locator("#transcript .htmx-request").count(), "it is quiet")
    check_accessibility(page)


@pytest.mark.proof  # a toast is shown in test_keys
def test_toast_is_accessible_and_covers_no_jump_link(visit: Visit):
    page = visit.begin("Say it", size=(PHONE[0], 560))
    find_card(page, BOOLEAN)
    page.keyboard.press("g")
    page.keyboard.press("g")
    live_link = page.locator("a.jump-link")
    expect(live_link).to_be_visible()
    page.evaluate(LASTING)
    page.keyboard.press("K")
    expect(page.locator("body > .toast")).to_have_text("No earlier prompt.")
    upper, lower = page.locator("body > .toast").bounding_box(), live_link.bounding_box()
    assert upper
    assert lower
    assert upper["y"] + upper["height"] <= lower["y"]
    check_accessibility(page, "body > .toast, a.jump-link")
    expect(page.locator("body > .toast")).to_be_visible()


@pytest.mark.proof  # asking/test_card, test_links and test_prompts look at cards of each kind
def test_open_and_settled_cards_are_accessible(visit: Visit):
    page = visit.begin("Card")
    for kind in (BOOLEAN, SELECT, TEXT, SECRET):
        find_card(page, kind)
        check_accessibility(page, "#inbox")
        decline_question(page, kind)
    check_under_proof(page)
    page.goto(f"{visit.server.url}/questions")
    check_accessibility(page, "main")
