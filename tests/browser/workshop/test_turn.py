"""One turn with three tools at once, each of which asks the person at the page."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser import evidence
from tests.browser.looks import check_under_proof
from tests.browser.pages import (
    find_composer,
    find_option,
    last_words,
    number_of,
    path_of,
    stay_on_page,
    wait_until_connected,
)
from tests.browser.workshop.shop import KEY, MCP_TOOL, Stay, find_call, find_question
from tests.machine.ports import wait_until
from tests.machine.vendors import Call, Reply, Say, Script, Think
from tests.machine.visiting import HttpReply, Visitor

pytestmark = pytest.mark.browser

THOUGHT = "Three tools, and none of them waits for another. I call them together."
WORDS = "I shall greet, deploy and book a table, all at once."
CALLS = (
    Call("greet", {}, id="call_greet"),
    Call("deploy", {"service": "the-blog-of-the-orchard"}, id="call_deploy"),
    Call("book_table", {"guests": 3}, id="call_book"),
)
LAST = "All *three* are done."
THOUGHT_AND_WORDS = (Think(THOUGHT, signature="signed"), Say(WORDS))
THREE_CALLS = Reply(*THOUGHT_AND_WORDS, *CALLS)
#: Frames by a part of them, and after each the class of what is shown, a text in it, and one not.
STEPS = (
    (THOUGHT[:20].encode(), "partial reasoning", THOUGHT[:20], THOUGHT),
    (WORDS[:15].encode(), "partial", WORDS[:15], WORDS),
    (b'"partial_json": "{', "partial tool", "Calling deploy", "the-blog"),
    (b"the-blog", "partial tool", '{"service": "the-blog', "orchard"),
)


@pytest.fixture
def mcp_tool(workshop: Stay) -> Iterator[None]:
    """Offer the tool of the MCP server, which then starts with each turn: 2 s of processor."""
    workshop.shop.switch(MCP_TOOL, is_on=True)
    yield
    workshop.shop.switch(MCP_TOOL, is_on=False)


@pytest.fixture
def canary() -> str:
    return f"canary{secrets.token_hex(12)}"


def replies(go: threading.Event, first: Reply) -> Iterator[Script]:
    """Yield the model's part; it begins once the page listens."""

    def begin(_body: object) -> Reply:
        assert go.wait(20)
        return first

    yield begin
    yield Reply(Say('{"answer": true}'))
    yield Reply(Say(LAST))


def begin_calls(workshop: Stay, first: Reply = THREE_CALLS) -> Page:
    """Have the model call tools at once: three, unless told otherwise."""
    go = threading.Event()
    page = workshop.open()
    workshop.ask("Three things at once", *replies(go, first), page=page)
    wait_until_connected(page)
    go.set()
    return page


def answer_questions(page: Page, *, remember: bool = False) -> None:
    """Answer what the two local tools ask first."""
    greet = find_question(page, "Whom shall I greet?")
    greet.get_by_label("Answer").fill("Ada")
    greet.get_by_role("button", name="Answer").click()
    deploy = find_question(page, "Deploy the-blog-of-the-orchard?")
    deploy.get_by_label("Remember for this turn").set_checked(remember)
    find_option(deploy, "Yes").click()


def send_passphrase(page: Page, secret: str) -> None:
    vault = find_question(page, "The passphrase?")
    vault.get_by_label("Secret", exact=True).fill(secret)
    vault.get_by_role("button", name="Answer").click()


def test_reasoning_text_and_a_call_stream_to_the_page(workshop: Stay):
    permits = threading.Semaphore(0)

    def hold_back(frame: bytes) -> None:
        if any(part in frame for part, *_ in STEPS):
            assert permits.acquire(timeout=20)

    page = begin_calls(workshop, Reply(*THOUGHT_AND_WORDS, CALLS[1], gate=hold_back))
    workshop.wait_for_requests(1)  # the first turn of a server takes long to begin
    partial = page.locator("#partial-text:not([hidden])")
    with stay_on_page(page):
        for _, name, shown_text, later_text in STEPS:
            expect(partial).to_contain_text(shown_text)
            expect(partial).to_have_class(name)
            expect(partial).not_to_contain_text(later_text)
            permits.release()
        find_question(page, "Deploy the-blog-of-the-orchard?")


@pytest.mark.proof  # test_permission and test_card do each part
@pytest.mark.usefixtures("mcp_tool")
def test_cards_of_three_tools_are_answered_live_and_recorded(workshop: Stay):
    page = begin_calls(workshop)
    with stay_on_page(page):
        answer_questions(page, remember=True)
        book = find_question(page, "A table at the window?")
        expect(book).to_contain_text("There is one table left for 3.")
        find_option(book, "No").click()
        send_passphrase(page, "hush")
        expect(last_words(page)).to_contain_text("All three are done.")
        expect(find_composer(page)).to_be_visible()
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("details[data-variant=reasoning]")).to_contain_text(THOUGHT)
    expect(find_call(page, "greet")).to_contain_text("HELLO, Ada!")
    expect(find_call(page, "deploy")).to_contain_text("Deployed with a key whose digest is")
    expect(find_call(page, "book_table")).to_contain_text("A table for 3, in the corner.")
    flows = page.locator("[data-kind=tool_call_request] details[data-kind=inquiry_request]")
    assert sorted(
        (flow.get_attribute("data-answer-type"), flow.get_attribute("data-outcome"))
        for flow in flows.all()
    ) == [
        ("boolean", "answered"),
        ("boolean", "answered"),
        ("boolean", "answered"),
        ("secret", "redacted"),
        ("text", "answered"),
    ]
    loud = flows.filter(has_text="Shall it be loud?")
    expect(loud.locator(".outcome")).to_contain_text("by second model")
    confirmed = flows.filter(has_text="Deploy the-blog-of-the-orchard?").locator(".outcome")
    expect(confirmed).to_contain_text(re.compile("by Owner after .+s, remembered for this turn"))
    expect(flows.filter(has_text="The passphrase?").locator(".outcome")).to_contain_text("by Owner")
    check_under_proof(page)


def processes() -> list[str]:
    """Return what every user of this machine can read of its processes."""
    command_lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command_lines.append(file.read_text(errors="replace"))
        except OSError:
            continue  # it has ended
    return command_lines


def with_answers() -> list[str]:
    """Return the command line of the tool that has its answers, once it runs."""
    return [
        command_line
        for command_line in processes()
        if "tools/deploy.py" in command_line and '"confirm"' in command_line
    ]


def send_without_a_session(workshop: Stay, page: Page, secret: str) -> HttpReply:
    """Answer the open question with a secret, as a browser whose session has ended does."""
    key = find_question(page, "The passphrase?").get_attribute("data-question")
    stranger = Visitor(workshop.server.url)
    reply = stranger.post(f"/questions/{key}/answer", "/sign-in", answer=secret)
    assert urlsplit(reply.url).path == "/sign-in"
    return reply


def test_secret_reaches_only_the_tool_and_the_key_only_the_vendor(workshop: Stay, canary: str):
    page = begin_calls(workshop, Reply(*THOUGHT_AND_WORDS, *CALLS[:2]))
    workshop.shop.hold.touch()
    answer_questions(page)
    refusal = send_without_a_session(workshop, page, canary)
    send_passphrase(page, canary)
    wait_until(with_answers, "the tool runs with its answers")
    assert evidence.find_traces(canary, workshop.shop.root, *processes()) == []
    workshop.shop.hold.unlink()
    expect(find_composer(page)).to_be_visible()
    expect(page.locator("details[data-outcome=redacted]")).to_have_count(1)
    owner, place = workshop.home.owner, path_of(page)
    anchors = page.locator("[id^=e-][data-kind]").evaluate_all("all => all.map(e => e.id)")
    assert len(anchors) > 10
    paths = [place, "/", "/conversations", "/questions", "/audit", "/audit.csv", workshop.shop.page]
    paths += [f"{place}/events/{anchor}" for anchor in anchors]
    paths += [f"{place}/export/{name}" for name in ("jp", "jsonl", "markdown", "html")]
    pages_html = [reply.text for reply in map(owner.get, paths) if reply.status == 200]
    assert len(pages_html) == len(paths)
    request_bodies = [json.dumps({"path": r.path, "body": r.body}) for r in workshop.model.requests]
    assert len(request_bodies) == 3
    assert {r.headers["authorization"] for r in workshop.model.requests} == {f"Bearer {KEY}"}
    headers = [str(asdict(request)["headers"]) for request in workshop.model.requests]
    data, log = workshop.server.data, workshop.server.log_text()
    assert "DEBUG" in log
    assert evidence.find_traces(THOUGHT[:30], data), "the search finds what is there"
    assert evidence.pair_inquiries(evidence.read_journal(workshop.server, number_of(page)))
    everywhere = [
        log,
        refusal.url,
        refusal.text,
        *pages_html,
        evidence.kept_by(page),
        *request_bodies,
    ]
    assert evidence.find_traces(canary, data, *everywhere, *headers) == []
    assert evidence.find_traces(KEY, data, *everywhere) == []
