"""One conversation: every element has its place, and nothing in it is obeyed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import find

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Membership, Person
from jpweb.stream.events import BrokenEvent, ChatResponse, ConversationEvent, UnknownEvent
from jpweb.stream.inquiry import Cancelled
from jpweb.stream.outline import Outline, build_outline
from jpweb.stream.transcript.items import ToolCall
from tests.builders import make_call, make_inquiry, make_result, raw, stream
from tests.machine.sizes import mark_proof
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World, signed_in

DEMO = sorted(
    (int(path.parent.name.partition("-")[0]))
    for path in mirror.DEMO_PATH.glob(".jp/conversations/**/events.json")
)
HOSTILE = 17921457050


@pytest.fixture
def reader(db: None) -> Person:
    """Return a reader of the demo."""
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    return making.person("reader", Role.READER, workspace)


def demo(jp_id: int) -> Conversation:
    return Conversation.objects.get(jp_id=jp_id)


def url(conversation: Conversation, anchor: str = "") -> str:
    return f"/conversations/{conversation.pk}" + (f"/events/{anchor}" if anchor else "")


def page(person: Person, conversation: Conversation) -> ParsedPage:
    response = signed_in(person).get(url(conversation))
    assert response.status_code == 200
    return parse_page(response)


def placed(outline: Outline) -> Iterator[tuple[str, str]]:
    """Yield the anchor and the tag of every element, as the outline places them."""
    for turn in outline.turns:
        for item in turn.items:
            yield from _parts(item)


def _parts(item: Any) -> Iterator[tuple[str, str]]:
    if isinstance(item, ToolCall):
        yield item.request.anchor, item.request.element.tag
        if item.response:
            yield item.response.anchor, item.response.element.tag
    for inquiry in getattr(item, "inquiries", None) or [getattr(item, "inquiry", None)]:
        if inquiry is None:
            continue
        yield inquiry.request.anchor, inquiry.request.element.tag
        if inquiry.response:
            yield inquiry.response.anchor, inquiry.response.element.tag
    if hasattr(item, "placed"):
        yield item.placed.anchor, item.placed.element.tag


@pytest.mark.parametrize("jp_id", DEMO)
def test_transcript_has_every_element_once_by_anchor(reader: Person, jp_id: int):
    conversation = demo(jp_id)
    read_back = journal.read_elements(conversation.pk)
    outline = build_outline(read_back)
    expected = list(placed(outline))
    assert sorted(anchor for anchor, _ in expected) == sorted(outline.anchors), "nothing dropped"
    html_page = page(reader, conversation)
    for anchor, tag in expected:
        assert html_page.find_one(id=anchor)["data-kind"] == tag
    ids = [tag["id"] for tag in html_page if "id" in tag]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("jp_id", DEMO)
def test_transcript_inquiries_have_their_state(reader: Person, jp_id: int):
    conversation = demo(jp_id)
    html_page = page(reader, conversation)
    for inquiry, call in build_outline(journal.read_elements(conversation.pk)).list_inquiries():
        tag = html_page.find_one(id=inquiry.request.anchor)
        outcome = inquiry.outcome
        assert tag["data-outcome"] == inquiry.state
        assert tag["data-reason"] == (outcome.reason.tag if isinstance(outcome, Cancelled) else "")
        assert tag["data-source"] == inquiry.inquiry_request.source.tag
        assert tag["data-answer-type"] == inquiry.inquiry_request.question.answer_type.TAG
        assert tag.inside(**{"data-kind": "tool_call_request"}) is (call is not None)
        if call is not None:
            assert tag.inside(id=call.request.anchor)
        assert ("open" in tag) is (inquiry.state != "answered")


@pytest.mark.parametrize("jp_id", DEMO)
def test_the_counts_are_those_of_the_outline(reader: Person, jp_id: int):
    conversation = demo(jp_id)
    outline = build_outline(journal.read_elements(conversation.pk))
    html_page = page(reader, conversation)
    counts_tag = html_page.find_one(id="counts")
    counts = {
        t["data-count"]: t.text for t in html_page if "data-count" in t and counts_tag in t.parents
    }
    expected = {
        "events": len(outline.anchors),
        "turns": len(outline.turns),
    } | outline.count_states()
    assert counts == {key: str(value) for key, value in expected.items()}


def test_transcript_shows_unanswered_questions(reader: Person):
    states = {
        inquiry.state
        for jp_id in DEMO
        for inquiry, _ in build_outline(journal.read_elements(demo(jp_id).pk)).list_inquiries()
    }
    assert states == {"answered", "redacted", "cancelled", "unanswered"}
    conversation = next(
        demo(jp_id)
        for jp_id in DEMO
        if "unanswered" in build_outline(journal.read_elements(demo(jp_id).pk)).count_states()
    )
    html_page = page(reader, conversation)
    outcome = next(t for t in html_page if t.get("data-outcome") == "unanswered" and t.tag == "div")
    assert "no answer was recorded" in outcome.text
    assert outcome.inside(**{"data-kind": "inquiry_request"})


def test_transcript_shows_unknown_and_broken_events_raw(reader: Person):
    kinds = set()
    for jp_id in DEMO:
        conversation = demo(jp_id)
        html_page = page(reader, conversation)
        for entry in conversation.journal.all():
            element = journal.find_element(conversation.pk, entry.anchor)[1]
            if isinstance(element.body, ConversationEvent):
                continue
            readability = {BrokenEvent: "broken", UnknownEvent: "unknown"}[type(element.body)]
            tag = html_page.find_one(id=entry.anchor)
            assert tag["data-readable"] == readability
            assert element.raw.replace("\n  ", "\n") in tag.text
            kinds.add(readability)
    assert kinds == {"broken", "unknown"}


def suspects(html_page: ParsedPage) -> list[str]:
    """Return what could run or style something on a page."""
    return [
        f"{tag.tag} {name}={value}"
        for tag in html_page
        for name, value in tag.items()
        if name.startswith(("on", "hx-on", "data-hx"))
        or name in ("style", "srcdoc", "hx-on", "hx-vals", "hx-vars")
        or value.strip().lower().startswith(("javascript:", "vbscript:", "data:text"))
    ]


def own_files(html_page: ParsedPage) -> list[str]:
    scripts = [tag for tag in html_page if tag.tag == "script"]
    assert not [tag.text for tag in scripts if tag.text.strip()], "no inline script"
    return [tag["src"] for tag in scripts]


@pytest.mark.parametrize(
    "jp_id", [HOSTILE, *mark_proof(*(jp_id for jp_id in DEMO if jp_id != HOSTILE))]
)
def test_transcript_executes_nothing_of_a_conversation(reader: Person, jp_id: int):
    conversation = demo(jp_id)
    client = signed_in(reader)
    urls = [
        url(conversation),
        "/",
        *(url(conversation, entry.anchor) for entry in conversation.journal.all()),
    ]
    for address in urls:
        html_page = parse_page(client.get(address))
        assert suspects(html_page) == []
        for source in own_files(html_page):
            assert source.startswith(settings.STATIC_URL)
            path = find(source.removeprefix(settings.STATIC_URL).partition("?")[0])
            assert path is not None
            assert Path(path).is_file()
        foreign = {"iframe", "object", "embed", "img", "style", "base", "form"}
        main = [t for t in html_page if t.inside(id="transcript")]
        assert {t.tag for t in main} & (foreign | {"script", "svg", "link", "meta"}) == set()
        assert (html_page.crossed, html_page.unclosed) == ([], [])


def test_the_hostile_conversation_is_hostile_indeed(reader: Person):
    text = page(reader, demo(HOSTILE)).text
    for attack in ("<script>alert(1)</script>", "onerror=alert(1)", "</textarea></script>"):
        assert attack in text, "shown word for word"
    raw_text = "".join(entry.text for entry in demo(HOSTILE).journal.all())
    assert "javascript:" in raw_text


@pytest.mark.parametrize(
    "path", ["/", "/conversations", "/questions", "/audit", "/sign-in", "/no/such", "conversation"]
)
def test_content_security_policy_allows_own_sources_only(world: World, path: str):
    response = world.client("owner").get(
        url(world.conversation) if path == "conversation" else path
    )
    policy = dict(
        part.strip().partition(" ")[::2] for part in response["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in response["Content-Security-Policy"]
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert "no-cache" in response["Cache-Control"] or "no-store" in response["Cache-Control"]
    assert "private" in response["Cache-Control"]
    assert suspects(parse_page(response)) == []


def mirrored(tmp_path: Path, *kinds: Any) -> tuple[Person, Conversation]:
    making.write_folder(tmp_path, "17000000000-x", stream(*kinds))
    workspace, _ = mirror.mirror_workspace(tmp_path)
    return making.person("someone", Role.READER, workspace), Conversation.objects.get(
        workspace=workspace
    )


LONG = "0123456789 " * 2000


@pytest.mark.parametrize(
    "kinds",
    [
        [ChatResponse("message", LONG)],
        [ChatResponse("reasoning", LONG)],
        [ChatResponse("data", {"long": LONG})],
        [make_call("c", text=LONG)],
        [make_call("c"), make_result("c", LONG)],
        [make_inquiry("c.q.1", f"Look:\n{LONG}\n")],
        [raw({"type": "novel", "text": LONG})],
    ],
    ids=["message", "reasoning", "data", "arguments", "result", "question", "unknown"],
)
def test_transcript_truncates_long_content_and_links_to_it(
    db: None, tmp_path: Path, kinds: list[Any]
):
    person, conversation = mirrored(tmp_path, *kinds)
    html_page = page(person, conversation)
    assert LONG.strip() not in html_page.text
    (link,) = [tag for tag in html_page if tag.tag == "a" and tag.text == "Show all"]
    size = int(link.parents[-1].text.split("Truncated (total: ")[1].split()[0].replace(",", ""))
    assert size >= len(LONG)
    assert link["href"] == url(conversation, conversation.journal.latest("position").anchor)
    whole_page = parse_page(signed_in(person).get(link["href"]))
    assert LONG.strip() in whole_page.text


def test_transcript_shows_content_below_the_limit_completely(db: None, tmp_path: Path):
    person, conversation = mirrored(tmp_path, ChatResponse("message", "x" * 12_000))
    html_page = page(person, conversation)
    assert "x" * 12_000 in html_page.text
    assert "Truncated" not in html_page.text


def test_an_event_has_a_page_with_its_json(world: World):
    html_page = parse_page(world.client("reader").get(url(world.conversation, world.anchor)))
    raw_tag = html_page.find_one(**{"data-payload": "raw"})
    assert '"text": "Go on?"' in raw_tag.text
    assert f"{url(world.conversation)}?at={world.anchor}#{world.anchor}" in [
        tag.get("href") for tag in html_page
    ]


def test_event_page_of_an_unknown_anchor_returns_404(world: World):
    assert world.client("reader").get(url(world.conversation, "e-nothing")).status_code == 404


def test_a_conversation_that_cannot_be_read_says_why(world: World):
    Conversation.objects.update(problem="events.json: gone <b>", origin="mirrored")
    alert = parse_page(world.client("reader").get(url(world.conversation))).find_one(role="alert")
    assert "events.json: gone <b>" in alert.text
    assert "last version that could be read" in alert.text


def test_an_empty_conversation_says_so(world: World):
    conversation = making.conversation(world.workspace, "")
    html_page = parse_page(world.client("reader").get(url(conversation)))
    assert "No messages yet" in html_page.find_one(id="empty-transcript").text
    assert "Untitled" in html_page.text


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("running", "Running · scripted"),
        ("failed", "The last turn failed. No more tokens"),
        ("stopped", "was stopped"),
        ("lost", "was interrupted"),
        ("done", "Message"),
    ],
)
def test_transcript_foot_has_the_state_of_the_last_turn(world: World, state: str, message: str):
    world.run.state, world.run.problem = state, "No more tokens"
    world.run.save()
    html_page = parse_page(world.client("responder").get(url(world.conversation)))
    assert message in html_page.find_one(id="composer").text
    stop_forms = [tag for tag in html_page if tag.get("action", "").endswith("/stop")]
    assert bool(stop_forms) is (state == "running")
    foot = parse_page(world.client("reader").get(url(world.conversation))).find_one(id="composer")
    assert "Read-only access" in foot.text


def test_mirrored_conversation_has_no_forms_for_messages(reader: Person):
    Membership.objects.update(role=Role.OWNER)
    html_page = page(reader, demo(HOSTILE))
    assert "The demo is read-only" in html_page.find_one(id="composer").text
    post_forms = [tag for tag in html_page if tag.get("method") == "post"]
    actions = [tag.get("action", "") for tag in post_forms if tag.get("id") != "bookmark-form"]
    assert not [action for action in actions if action.startswith("/conversations")]


def test_open_question_has_a_card_for_people_who_may_answer(world: World):
    card = f"question-{world.question.pk}"
    assert parse_page(world.client("responder").get(url(world.conversation))).find_one(id=card)
    assert not parse_page(world.client("reader").get(url(world.conversation))).find_all(id=card)
