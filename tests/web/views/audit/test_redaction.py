"""The page of a redaction: form, preview, replacement, for auditors."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from jpweb.store.choices import Act, RunState
from jpweb.store.models import Conversation, JournalEntry, LedgerEntry, Run
from jpweb.store.search import saved_searches
from jpweb.stream.answer_type import Option, Select
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.builders import make_answer, make_element, make_inquiry, make_result
from tests.canary.spellings import has_secret
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

CANARY = "canary-7f3a9c"


@pytest.fixture
def anchor(world: World) -> str:
    """Return the anchor of an answer that leaked, in a conversation whose run has ended."""
    settled = making.settle(world.question, Answered(CANARY))
    Run.objects.filter(pk=world.run.pk).update(state=RunState.DONE)
    assert settled.response_position is not None
    entry = JournalEntry.objects.get(
        conversation=world.conversation, position=settled.response_position
    )
    return entry.anchor


def post(world: World, step: str, anchor: str, name: str = "auditor", **data: str) -> Any:
    url = reverse(f"event-redact-{step}", args=[world.conversation.pk, anchor])
    return world.client(name).post(url, {"scope": "whole", "reason": "a leaked key"} | data)


def test_preview_counts_the_places_and_changes_nothing(world: World, anchor: str):
    page = post(world, "preview", anchor, scope="conversation", strings=CANARY)
    assert page.status_code == 200
    assert "answer 1\N{MULTIPLICATION SIGN}" in page.content.decode()
    assert JournalEntry.objects.filter(text__contains=CANARY).exists()
    assert not LedgerEntry.objects.filter(act=Act.REDACTED).exists()


def test_confirmed_redaction_shows_the_marker_on_every_page(world: World, anchor: str):
    assert post(world, "confirm", anchor).status_code == 302
    client = world.client("auditor")
    for url in (
        reverse("conversation", args=[world.conversation.pk]),
        reverse("event", args=[world.conversation.pk, anchor]),
        reverse("question", args=[world.question.pk]),
        reverse("conversation-raw", args=[world.conversation.pk]),
        reverse("conversation-export", args=[world.conversation.pk, "markdown"]),
        reverse("conversation-export", args=[world.conversation.pk, "html"]),
        reverse("audit"),
    ):
        response = client.get(url)
        text = b"".join(response) if response.streaming else response.content
        assert response.status_code == 200, url
        assert not has_secret(text.decode(), CANARY), url
    assert (
        "redacted by Auditor: a leaked key"
        in client.get(reverse("event", args=[world.conversation.pk, anchor])).content.decode()
    )


@pytest.mark.parametrize("name", ["reader", "auditor"])
def test_open_page_of_a_settled_question_gets_its_redaction(world: World, anchor: str, name: str):
    client, path = world.client(name), f"/questions/{world.question.pk}"
    state = parse_page(client.get(path)).find_one(id="question-state")
    refresh_url = f"{path}?revision={state['data-revision']}"
    headers = {"HX-Request": "true"}
    assert client.get(refresh_url, headers=headers).status_code == 204
    post(world, "confirm", anchor)
    page = parse_page(client.get(refresh_url, headers=headers))
    new_state = page.find_one(id="question-state")
    assert int(new_state["data-revision"]) > int(state["data-revision"])
    assert "redacted by Auditor: a leaked key" in new_state.text
    assert not has_secret(page.text, CANARY)
    has_item = bool(page.find_all(**{"aria-labelledby": "context-title"}))
    assert has_item == (name == "auditor")
    assert not page.find_all(id="reviews")  # a review may be half written


def test_redaction_page_shows_who_redacted_and_the_hash(world: World, anchor: str):
    post(world, "confirm", anchor)
    page = world.client("auditor").get(
        reverse("event-redact", args=[world.conversation.pk, anchor])
    )
    assert "Check an original" in page.content.decode()
    assert LedgerEntry.objects.get(act=Act.REDACTED).person_id == world.people["auditor"].pk


def test_redactions_of_one_event_are_distinguishable_in_decisions(world: World):
    note = f"{CANARY} and a key"
    row = making.settle(world.question, Cancelled(CancellationReason.USER), note=note)
    Run.objects.filter(pk=world.run.pk).update(state=RunState.DONE)
    assert row.response_position is not None
    anchor = JournalEntry.objects.get(
        conversation=world.conversation, position=row.response_position
    ).anchor
    for string in (CANARY, "and a key"):
        assert post(world, "confirm", anchor, scope="event", strings=string).status_code == 302
    page = parse_page(world.client("auditor").get("/audit/decisions?kind=redaction"))
    cells = [" ".join(tag.text.split()) for tag in page.find_all(**{"data-label": "Decision"})]
    assert cells == [
        "Event redacted, reason a leaked key, redaction number 2, replaced strings, in metadata",
        "Event redacted, reason a leaked key, replaced strings, in metadata",
    ]
    assert not has_secret(page.text, CANARY)


WAITING = "A turn is running or waits for an answer."


@pytest.mark.parametrize(
    ("name", "advice"),
    [("auditor", "Stop it in {title} first."), ("auditor only", "Ask a responder to stop it")],
)
def test_form_of_a_conversation_whose_turn_runs_is_left_out(
    world: World, anchor: str, name: str, advice: str
):
    key, client = world.conversation.pk, world.client(name)
    address = reverse("event-redact", args=[key, anchor])
    page = parse_page(client.get(address))
    assert (CANARY in page.text, WAITING in page.text) == (True, False)
    assert page.find_all(name="reason")
    Run.objects.update(state=RunState.PARKED)
    page = parse_page(client.get(address))
    assert f"{WAITING} {advice.format(title=world.conversation.title or 'Untitled')}" in page.text
    assert not page.find_all(name="reason")
    links = page.find_all(href=f"/conversations/{key}?at=end#composer")
    assert bool(links) == (name == "auditor")


def test_redaction_refused_by_a_new_turn_keeps_its_reason(world: World, anchor: str):
    Run.objects.update(state=RunState.RUNNING)
    response = post(world, "confirm", anchor)
    page = parse_page(response)
    assert (response.status_code, page.text.count(WAITING)) == (422, 1)
    assert page.find_one(name="reason")["value"] == "a leaked key"


@pytest.mark.parametrize("name", ["reader", "responder", "auditor"])
def test_links_to_redaction_are_for_auditors(world: World, anchor: str, name: str):
    client = world.client(name)
    for url in (
        reverse("event", args=[world.conversation.pk, anchor]),
        reverse("question", args=[world.question.pk]),
    ):
        assert ("/redaction/edit" in client.get(url).content.decode()) == (name == "auditor")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"scope": ""}, "Choose what to replace."),
        ({"reason": ""}, "Give a reason."),
        ({"reason": "x" * 201}, "Shorten the reason to 200 characters."),
        ({"scope": "event", "strings": " "}, "at least 3 characters"),
        ({"scope": "event", "strings": "ab"}, "at least 3 characters"),
        ({"scope": "event", "strings": "\n".join(f"abc{i}" for i in range(21))}, "at most 20"),
        ({"scope": "event", "strings": "absent"}, "None of these strings"),
    ],
    ids=["scope", "reason", "long-reason", "blank", "short", "many", "absent"],
)
@pytest.mark.parametrize("step", ["preview", "confirm"])
def test_bad_input_is_named_and_kept(
    world: World, anchor: str, step: str, data: dict[str, str], problem: str
):
    response = post(world, step, anchor, **data)
    assert response.status_code == 422
    assert problem in response.content.decode()
    assert JournalEntry.objects.filter(text__contains=CANARY).exists()


def test_redaction_of_an_unknown_event_is_not_found(world: World):
    assert post(world, "preview", "e-00").status_code == 404


PIN = 471199


@pytest.fixture
def numbers(world: World) -> Conversation:
    """Return a conversation with a pin as a number in a call, a question, its answer and data."""
    conversation = making.mirrored_conversation(
        world.workspace,
        ChatRequest("Open the vault"),
        ToolCallRequest("c", "vault", {"pin": PIN, "tries": 3}),
        make_inquiry("c.pin.1", "Which?", type=Select((Option(PIN), Option(2)))),
        make_answer("c.pin.1", PIN),
        make_result(f"c-{PIN}", "opened"),
        ChatResponse("data", {"pin": PIN}),
    )
    saved_searches.save_search(world.people["reader"].pk, "mine", f"q={PIN}")
    return conversation


def post_pin(world: World, conversation: Conversation, step: str) -> Any:
    anchor = JournalEntry.objects.get(conversation=conversation, position=1).anchor
    url = reverse(f"event-redact-{step}", args=[conversation.pk, anchor])
    data = {"scope": "conversation", "reason": "a leaked key", "strings": str(PIN)}
    return world.client("auditor").post(url, data, follow=True)


def test_redaction_preview_and_result_name_kept_strings(world: World, numbers: Conversation):
    page = post_pin(world, numbers, "preview").content.decode()
    assert "What will stay" in page
    assert "Event 4</a> (Result): id</li>" in page
    assert "Saved searches: 1. Ask the members" in page
    page = post_pin(world, numbers, "confirm").content.decode()
    assert "Redacted 4 events." in page
    assert "Event 4 keeps a string in a name, an id or a time." in page
    assert "The text also stays in saved searches." in page


def test_result_names_each_event_that_keeps_a_string(world: World, numbers: Conversation):
    JournalEntry.objects.filter(conversation=numbers, position=0).update(
        text=make_element(ChatRequest("Hi", author=f"bot-{PIN}")).raw
    )
    page = post_pin(world, numbers, "confirm").content.decode()
    assert "Events 0, 4 keep a string in a name, an id or a time." in page


def test_pages_and_exports_show_the_marker_in_place_of_a_number(
    world: World, numbers: Conversation
):
    post_pin(world, numbers, "confirm")
    key, client = numbers.pk, world.client("auditor")
    question = numbers.inquiries.get()
    anchors = JournalEntry.objects.filter(conversation=numbers).exclude(position=4)
    events = [reverse("event", args=[key, entry.anchor]) for entry in anchors]
    exports = [
        reverse("conversation-export", args=[key, name]) for name in ("markdown", "html", "jsonl")
    ]
    pages = [reverse(name, args=[key]) for name in ("conversation", "conversation-thread")]
    marked = 0
    for url in [*events, *exports, *pages, reverse("question", args=[question.pk])]:
        response = client.get(url)
        assert response.status_code == 200, url
        text = b"".join(response) if response.streaming else response.content
        page_text = text.decode().replace(f"c-{PIN}", "")
        assert not has_secret(page_text, str(PIN)), url
        marked += "redacted by Auditor: a leaked key" in page_text
    assert marked == len([*events[1:], *exports, *pages, question])
