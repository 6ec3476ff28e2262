from __future__ import annotations

import re
import secrets

import pytest
from playwright.sync_api import Page, Route, expect

from jpweb.store.choices import Role
from tests.browser.pages import (
    BOOLEAN,
    SELECT,
    TEXT,
    Visit,
    answer_question,
    decline_question,
    find_card,
    find_cards,
    find_composer,
    find_inquiries,
    path_of,
    press_decline,
    send_message,
    stay_on_page,
    wait_until_connected,
)
from tests.browser.wires import PATIENT_WITH_SOCKET, PageWire
from tests.machine.browsing import PHONE
from tests.machine.ports import wait_until

pytestmark = pytest.mark.browser

REFUSED = "status of 40[349]"
ASKS_WITH_LINK = (
    '/call ask_user {"question": "Shall I go on?", "answer_type": "boolean",'
    ' "context": "See [the notes](https://example.com).\\n\\n```\\necho done\\n```"}'
)
ASKS_TEXT = '/call ask_user {"question": "Which name?", "answer_type": "text"}'
#: Fetch what the page of a question fetches every 30 seconds.
RENEW = """() => {
  const source = document.getElementById("page");
  return htmx.ajax("GET", source.dataset.refresh, { source, swap: "none" });
}"""
#: Note all that is announced, also what something else follows at once.
HEARD = """() => {
  window.said = "";
  const heard = (all) => all.forEach(({ addedNodes: [text] }) => { said += text.data; });
  new MutationObserver(heard).observe(document.getElementById("announcer"), { childList: true });
}"""


@pytest.fixture
def name() -> str:
    return f"Ada {secrets.token_hex(3)}"


def block_socket(page: Page) -> Page:
    """Let a page believe that it is connected, and hear nothing."""
    page.route_web_socket(re.compile("/ws$"), lambda _: None)
    page.reload()
    return page


def up_to_the_text(page: Page) -> None:
    decline_question(page, BOOLEAN)
    decline_question(page, SELECT)
    find_card(page, TEXT)


def test_an_invited_person_signs_in_by_a_link_once(visit: Visit, name: str):
    visit.pages.forgive("status of 403")
    page = visit.open(f"/workspaces/{visit.home.workspaces()['Demo']}/people")
    page.get_by_label("Name", exact=True).fill(name)
    page.locator("form[action$=invite] select").select_option("Responder")
    page.get_by_role("button", name="Invite").click()
    link = page.locator("[data-link]").inner_text()
    expect(page.locator(f"[data-invited={name!r}]")).to_be_visible()
    ada = visit.pages(link)
    ada.get_by_role("button", name=f"Join as {name}").click()
    expect(ada.locator(".menu summary")).to_contain_text(name)
    expect(ada.get_by_role("link", name="A tour of questions and answers")).to_be_visible()
    expect(ada.get_by_role("link", name="Audit", exact=True)).to_have_count(0)
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("is invalid: it is used")


@pytest.mark.proof  # who is late, in make test
def test_card_of_two_people_is_settled_by_the_first_answer(visit: Visit, name: str):
    page = visit.begin()
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    with stay_on_page(page), stay_on_page(ada):
        for tab in (page, ada):
            find_card(tab, BOOLEAN)
        answer_question(page, BOOLEAN, "No")
        expect(ada.locator(".card.settled")).to_contain_text("by Owner")
        answer_question(ada, SELECT, "not at all")
        expect(page.locator(".card.settled").nth(1)).to_contain_text(f"by {name}")
    page.goto(f"{visit.server.url}/audit?demo=1&person={name.replace(' ', '+')}")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.proof  # one that loses while it is sent, below; tests/web/test_questions has the form
def test_late_answer_names_the_first_person_and_keeps_the_text(visit: Visit, name: str):
    visit.pages.forgive(REFUSED)
    page = visit.begin(ASKS_TEXT)
    find_card(page, TEXT)
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    block_socket(ada)
    find_card(ada, TEXT).get_by_label("Answer").fill("a long and careful answer")
    answer_question(page, TEXT, "mine")
    find_card(ada, TEXT).get_by_role("button", name="Answer").click()
    settled_card = ada.locator(".card.settled")
    expect(settled_card.get_by_role("alert")).to_contain_text("Already answered by Owner")
    expect(settled_card.get_by_label("Your draft (not sent)")).to_have_value(
        "a long and careful answer"
    )
    expect(find_inquiries(page)).to_have_attribute("data-outcome", "answered")
    assert page.locator("[data-answer]").all_text_contents() == ["mine"]


@pytest.mark.proof  # so it does where keys are pressed
def test_draft_is_shown_when_another_person_answers_first(visit: Visit, name: str):
    page = visit.begin()
    up_to_the_text(page)
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    find_card(ada, TEXT).get_by_label("Answer").fill("not sent yet")
    answer_question(page, TEXT, "first.md")
    expect(ada.get_by_label("Your draft (not sent)")).to_have_value("not sent yet")
    expect(ada.locator(".card.settled").filter(has_text="first.md")).to_be_visible()


@pytest.mark.proof  # a variant of the next one
def test_typing_into_a_removed_field_triggers_no_shortcuts(visit: Visit, name: str):
    page = visit.begin()
    find_card(page, BOOLEAN)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(find_composer(page)).to_be_visible()
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    ada.evaluate(HEARD)
    find_composer(ada).press_sequentially("half a sen")
    send_message(page, "Show me")
    expect(find_composer(ada)).to_have_count(0)
    wait_until(lambda: "Your draft is kept" in ada.evaluate("said"), "it is announced")
    ada.keyboard.type("j?")
    expect(ada.get_by_role("dialog")).to_have_count(0)
    expect(ada.locator("#transcript [aria-current]")).to_have_count(0)
    ada.keyboard.press("Tab")
    ada.keyboard.press("?")
    expect(ada.get_by_role("dialog")).to_be_visible()
    ada.keyboard.press("Escape")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(find_composer(ada)).to_have_value("half a sen")


@pytest.mark.proof  # a variant
def test_typing_into_a_settled_card_triggers_no_shortcuts(visit: Visit, name: str):
    page = visit.begin()
    up_to_the_text(page)
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    find_card(ada, TEXT).get_by_label("Answer").fill("not sent")
    answer_question(page, TEXT, "first.md")
    expect(ada.get_by_label("Your draft (not sent)")).to_have_value("not sent")
    ada.keyboard.press("?")
    expect(ada.get_by_role("dialog")).to_have_count(0)
    ada.locator("#heading").click()
    ada.keyboard.press("?")
    expect(ada.get_by_role("dialog")).to_be_visible()


def change_membership(visit: Visit, name: str, act: str, **fields: str) -> None:
    """Have the owner change a person's membership of the demo."""
    people = f"/workspaces/{visit.home.workspaces()['Demo']}/people"
    html = visit.home.owner.get(people).text
    match = re.search(rf'data-member="{name}".*?(/memberships/\d+/{act})', html, re.DOTALL)
    assert match, f"{name} is no member"
    assert visit.home.owner.post(match[1], people, **fields).status == 200


def change_role(visit: Visit, name: str, role: Role) -> None:
    """Have the owner change a person's role in the demo."""
    change_membership(visit, name, "role", role=str(role.value))


def check_removal_is_announced(visit: Visit, page: Page, name: str) -> None:
    """Take a person's right to answer while they type into the one card of their page."""
    find_card(page, TEXT).get_by_label("Answer").fill("not sent yet")
    page.evaluate(HEARD)
    change_role(visit, name, Role.READER)
    text = "This question is no longer available."
    card = page.locator(".card.settled").filter(has_text=text)
    expect(card.get_by_label("Your draft (not sent)")).to_have_value("not sent yet")
    wait_until(lambda: page.evaluate("said") != "", "it is announced")
    assert page.evaluate("said") == f"{text} Your draft is kept in its card."
    check_card_returns(visit, page, name, card.get_attribute("id") or "")


def check_card_returns(visit: Visit, page: Page, name: str, card_id: str) -> None:
    """Give the right to answer back: the card is there once, with the draft, and announced."""
    page.evaluate("said = ''")
    change_role(visit, name, Role.RESPONDER)
    expect(find_card(page, TEXT).get_by_label("Answer")).to_have_value("not sent yet")
    expect(page.locator(f"#{card_id}")).to_have_count(1)
    expect(page.get_by_text("This question is no longer available.")).to_have_count(0)
    wait_until(lambda: page.evaluate("said") != "", "it is announced")
    assert page.evaluate("said") == "New question: Which name?"


def rename(visit: Visit, path: str, title: str) -> None:
    """Rename a conversation as another of its people does."""
    reply = visit.home.owner.post_again(f"{path}/change", path, do="rename", title=title)
    assert reply.status == 200


def test_changed_title_reaches_tab_and_menu_unless_it_is_being_edited(visit: Visit):
    page = visit.begin()
    wait_until_connected(page)
    menu, path = page.locator("#edit-menu"), path_of(page)
    rename(visit, path, "Beans & “peas”")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Beans & “peas” · jpweb$"))
    expect(menu.locator("[name=title]")).to_have_value("Beans & “peas”")
    menu.locator("summary").click()
    menu.get_by_label("Title").fill("Be")
    rename(visit, path, "Peas")
    expect(page).to_have_title(re.compile(r"\) Peas · jpweb$"))
    expect(menu.get_by_label("Title")).to_be_focused()
    expect(menu.get_by_label("Title")).to_have_value("Be")
    menu.locator("summary").click()
    menu.locator("summary").click()
    expect(menu.get_by_label("Title")).to_have_value("Be")
    menu.get_by_label("Title").fill("Beans & “peas”")
    menu.locator("summary").click()
    expect(menu.locator("[name=title]")).to_have_value("Peas")
    # What came by socket is sent like the rest.
    menu.locator("summary").click()
    menu.get_by_role("button", name="Archive", exact=True).click()
    expect(page.get_by_text("Archived “Peas”")).to_be_visible()


@pytest.mark.parametrize("by", ["socket", pytest.param("form", marks=pytest.mark.proof)])
def test_answer_that_loses_and_text_of_who_may_not_answer_are_kept(
    visit: Visit, name: str, by: str
):
    visit.pages.forgive(REFUSED)
    page = visit.begin(f"{ASKS_TEXT}\n{ASKS_TEXT}")
    cards = find_cards(page, TEXT)
    expect(cards).to_have_count(2)
    ada = visit.sign_in(who=visit.home.invite(name, "responder"))
    wire = PageWire(ada, "hold" if by == "socket" else "drop")
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    ada.route(re.compile("/answer$"), hold)
    if by == "socket":
        ada.add_init_script(PATIENT_WITH_SOCKET)
    ada.goto(visit.server.url + path_of(page))
    wait_until_connected(ada)
    own_card = find_cards(ada, TEXT).first
    own_card.get_by_label("Answer").fill("overtaken")
    own_card.get_by_role("button", name="Answer").click()
    expect(own_card.get_by_text("Sending…")).to_be_visible()
    press_decline(cards.first)
    expect(find_inquiries(ada).first).to_have_attribute("data-outcome", "cancelled")
    if by == "socket":
        wire.let_go()
    else:
        wait_until(lambda: ada.title() and routes, "the form is sent")
        routes[0].continue_()
    expect(ada.get_by_role("alert")).to_contain_text("Already closed by Owner")
    expect(ada.get_by_label("Your draft (not sent)")).to_have_value("overtaken")
    assert bool(routes) == (by == "form")
    check_removal_is_announced(visit, ada, name)


def test_page_of_a_question_shows_its_form_to_whom_may_answer_again(visit: Visit, name: str):
    number = find_card(visit.begin(ASKS_TEXT), TEXT).get_attribute("data-question")
    ada = visit.open(f"/questions/{number}", who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    find_card(ada, TEXT).get_by_label("Answer").fill("not sent yet")
    draft = ada.get_by_label("Your draft (not sent)")
    for _ in range(2):
        change_role(visit, name, Role.READER)
        expect(ada.get_by_text("Responders in this workspace can answer it.")).to_be_visible()
        ada.evaluate(RENEW)
        expect(draft).to_have_value("not sent yet")
        expect(ada.locator("#question-details")).to_be_visible()
        change_role(visit, name, Role.RESPONDER)
        expect(find_card(ada, TEXT).get_by_label("Answer")).to_have_value("not sent yet")
        expect(ada.locator("#question-details")).to_be_hidden()
        expect(draft).to_have_count(0)
    find_card(ada, TEXT).get_by_role("button", name="Answer").click()
    expect(ada.locator(".card.settled")).to_contain_text("not sent yet")


def test_page_of_a_question_says_that_its_person_lost_access(visit: Visit, name: str):
    visit.pages.forgive(REFUSED)
    number = find_card(visit.begin(ASKS_TEXT), TEXT).get_attribute("data-question")
    ada = visit.open(f"/questions/{number}", who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    field = find_card(ada, TEXT).get_by_label("Answer")
    field.fill("not sent yet")
    change_membership(visit, name, "remove")
    notice = ada.locator("#connection")
    expect(notice).to_have_text("You no longer have access. This page is out of date.")
    expect(notice).to_be_visible()
    expect(field).to_have_value("not sent yet")


@pytest.mark.proof  # test_questions_everywhere keeps the focus when the socket updates a page
def test_question_page_keeps_focus_and_selection_when_it_is_updated(visit: Visit, name: str):
    number = find_card(visit.begin(ASKS_WITH_LINK), BOOLEAN).get_attribute("data-question")
    path, reader = f"/questions/{number}#question-{number}", visit.home.invite(name, "reader")
    page = visit.open(path, who=reader)
    wait_until_connected(page)
    expect(page.locator(f"#question-{number}")).to_be_focused()
    page.evaluate(RENEW)
    expect(page.locator(f"#question-{number}")).to_be_focused()
    details = page.locator("#question-details")
    link = details.get_by_role("link", name="the notes")
    link.focus()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#question-details'))")
    page.evaluate(RENEW)
    expect(link).to_be_focused()
    assert "echo done" in page.evaluate("getSelection().toString()")
    details.evaluate("section => section.append('From before.')")
    page.evaluate(RENEW)
    expect(details).not_to_contain_text("From before.")
    expect(link).to_be_focused()
    link.blur()
    page.evaluate(RENEW)
    assert page.evaluate("document.activeElement === document.body")


@pytest.mark.proof  # tests/web/test_access has it of every route
def test_conversation_of_a_reader_has_no_controls(visit: Visit, name: str):
    page = visit.begin("Read me")
    find_card(page, BOOLEAN)
    reader = visit.open(path_of(page), who=visit.home.invite(name, "reader"))
    wait_until_connected(reader)
    with stay_on_page(reader):
        expect(find_inquiries(reader)).to_have_attribute("data-outcome", "open")
        answer_question(page, BOOLEAN, "Yes")
        expect(find_inquiries(reader).first).to_have_attribute("data-outcome", "answered")
        expect(find_inquiries(reader)).to_have_count(2)
    expect(find_cards(reader)).to_have_count(0)
    expect(find_composer(reader)).to_have_count(0)
    expect(reader.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    main = reader.get_by_role("navigation", name="Main")
    expect(main.get_by_role("link", name="Questions")).to_have_count(0)


@pytest.mark.proof  # tests/web/transcript/test_consumers has it of sockets
def test_removed_member_gets_no_more_updates(visit: Visit, name: str):
    visit.pages.forgive(REFUSED)
    page = visit.begin()
    find_card(page, BOOLEAN)
    ada = visit.open(path_of(page), who=visit.home.invite(name, "responder"))
    wait_until_connected(ada)
    find_card(ada, BOOLEAN)
    owner = visit.open(f"/workspaces/{visit.home.workspaces()['Demo']}/people")
    row = owner.get_by_role("row", name=name)
    row.get_by_text("Remove…").click()
    expect(row.get_by_text(f"Remove {name} from Demo?")).to_be_visible()
    row.get_by_role("button", name="Remove").click()
    expect(owner.get_by_role("row", name=name)).to_have_count(0)
    answer_question(page, BOOLEAN, "Yes")
    expect(ada.locator("#connection")).to_have_text(
        "You no longer have access. This page is out of date."
    )
    expect(find_cards(ada, SELECT)).to_have_count(0)
    ada.reload()
    expect(ada.get_by_role("heading", name="Page not found")).to_be_visible()


@pytest.mark.proof  # test_accessibility looks at the page on a phone
def test_the_people_page_fits_a_phone(visit: Visit, name: str):
    visit.home.invite(f"{name} of the very long name", "reader")
    page = visit.open(f"/workspaces/{visit.home.workspaces()['Demo']}/people", size=PHONE)
    row = page.get_by_role("row", name=name)
    row.get_by_text("Remove…").click()
    for control in ("Change role", "New sign-in link", "Remove"):
        expect(row.get_by_role("button", name=control)).to_be_visible()
    wide = "(box) => box.scrollWidth - box.clientWidth"
    assert page.locator(".members").evaluate(wide) == 0
    assert page.locator("html").evaluate(wide) == 0
