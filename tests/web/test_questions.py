"""Answering and declining, with htmx and by a plain form."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jpweb.runtime.inquiries import resolution, secret_channels
from jpweb.store import inquiries, journal
from jpweb.store.choices import Role
from jpweb.store.errors import AlreadySettled
from jpweb.store.models import Conversation, Inquiry, Membership
from jpweb.stream.answer_type import Option, Secret, Select, Text
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, ToolCallRequest
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, Redacted
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in

CANARY = "canary-90c2"
HTMX = {"HX-Request": "true"}


def post(
    world: World, row: Inquiry, action: str, person_name: str = "responder", **fields: Any
) -> Any:
    """Answer or decline; ``answer`` is what is typed, ``htmx`` how it is sent."""
    headers = HTMX if fields.pop("htmx", False) else {}
    return world.client(person_name).post(f"/questions/{row.pk}/{action}", fields, headers=headers)


def test_an_answer_by_htmx_gives_the_settled_card(world: World):
    response = post(world, world.question, "answer", answer="true", htmx=True)
    page = parse_page(response)
    assert response.status_code == 200
    card = page.find_one(id=f"question-{world.question.pk}")
    assert card["data-outcome"] == "answered"
    assert "by Responder" in page.text
    assert not page.find_all(id="main")


@pytest.mark.parametrize("action", ["answer", "decline"])
def test_a_plain_form_leads_to_the_event(world: World, action: str):
    response = post(world, world.question, action, answer="true")
    assert response.status_code == 302
    address = f"/conversations/{world.conversation.pk}?at={world.anchor}#{world.anchor}"
    assert response["Location"] == address


def test_a_decline_by_htmx_gives_the_reason(world: World):
    page = parse_page(post(world, world.question, "decline", htmx=True))
    card = page.find_one(id=f"question-{world.question.pk}")
    assert (card["data-outcome"], card["data-reason"]) == ("cancelled", "user")


@pytest.mark.parametrize("htmx", [True, False])
def test_a_note_says_why_on_the_card_the_page_and_in_the_transcript(world: World, htmx: bool):
    note = "  Not on a <Friday>\r\nask again \0" + "x" * 3000
    post(world, world.question, "decline", note=note, htmx=htmx)
    row = inquiries.get_inquiry(world.question.pk)
    assert row.note.startswith("Not on a <Friday>\nask again \N{REPLACEMENT CHARACTER}x")
    assert len(row.note) == 2000
    (event,) = journal.read_elements(world.conversation.pk)[-1].events
    assert event.note["note"] == row.note
    responder = world.client("responder")
    for path in (f"/conversations/{world.conversation.pk}", "/questions", f"/questions/{row.pk}"):
        page = parse_page(responder.get(path))
        assert [tag.text for tag in page if "data-note" in tag] == [row.note]


def test_question_that_a_reply_interrupted_says_so_everywhere(world: World):
    """A decline with a reason is as much on record; its words are a *Reason*."""
    responder, conversation_id = world.people["responder"], world.conversation.pk
    stopped, by = Cancelled(CancellationReason.USER), making.decider(responder)
    row = making.settle(world.question, stopped, by, note="Leave it.", replied=True)
    role = {f"/conversations/{conversation_id}": "responder", "/questions": "responder"}
    for path in (*role, f"/questions/{row.pk}", "/audit", "/audit/decisions"):
        page = parse_page(world.client(role.get(path, "auditor")).get(path))
        badges = page.find_all(**{"class": "state", "data-reason": "user"})
        assert badges, path
        assert all("nterrupted with a reply" in badge.text for badge in badges), path
        notes = [tag.parents[-1].text for tag in page if "data-note" in tag]
        assert set(notes) <= {"Reply: Leave it."}, path
    (_, line) = b"".join(world.client("auditor").get("/audit/decisions.csv")).decode().splitlines()
    assert "Cancelled (interrupted with a reply)" in line


def test_a_decline_without_a_note_says_nothing_of_one(world: World):
    settled_card = parse_page(post(world, world.question, "decline", note=" \n ", htmx=True))
    assert not [tag for tag in settled_card if "data-note" in tag]
    (event,) = journal.read_elements(world.conversation.pk)[-1].events
    assert "note" not in event.note


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("action", ["answer", "decline"])
def test_repeated_answer_is_reported_as_already_received(world: World, action: str, htmx: bool):
    row = making.question(world.run, Text(), "Name?")
    assert post(world, row, "answer", answer="Rose", htmx=htmx).status_code in (200, 302)
    response = post(world, row, action, answer="Rose", note="Rose", htmx=htmx)
    assert response.status_code == 409
    assert "You already responded" in parse_page(response).find_one(role="alert").text
    assert "wasn't used" not in parse_page(response).text
    assert inquiries.get_inquiry(row.pk).answer == "Rose"


@pytest.mark.parametrize("htmx", [True, False])
def test_invalid_answer_returns_the_card_with_the_reason(world: World, htmx: bool):
    row = making.question(world.run, Select((Option("red"), Option("blue"))), "Which?")
    response = post(world, row, "answer", answer="green", htmx=htmx)
    page = parse_page(response)
    assert response.status_code == 422
    assert page.find_one(role="alert").text == "Choose one of the options."
    assert page.find_one(id=f"question-{row.pk}")["data-outcome"] == "open"
    assert bool(page.find_all(id="main")) is not htmx
    assert inquiries.get_inquiry(row.pk).state == "open"


@pytest.mark.parametrize("htmx", [True, False])
def test_answer_without_the_field_of_a_text_is_refused(world: World, htmx: bool):
    row = making.question(world.run, Text(), "Name?")
    response = post(world, row, "answer", note="Not now", htmx=htmx)
    assert response.status_code == 422
    page = parse_page(response)
    assert page.find_one(role="alert").text == "Enter an answer, or decline."
    assert [tag["value"] for tag in page.find_all(name="note")] == ["Not now"]
    assert inquiries.get_inquiry(row.pk).state == "open"
    assert post(world, row, "answer", answer="", htmx=htmx).status_code in (200, 302)
    assert inquiries.get_inquiry(row.pk).answer == ""
    assert post(world, row, "answer", htmx=htmx).status_code == 409


@pytest.mark.parametrize("count", [2, 6], ids=["buttons", "radio buttons"])
@pytest.mark.parametrize("value", [None, "", "null and more", 0, False, ["a"]], ids=repr)
def test_option_that_the_card_offers_is_taken(world: World, value: Any, count: int):
    options = (Option(value), *(Option(f"other {number}") for number in range(1, count)))
    row = making.question(world.run, Select(options), "Which?")
    page = parse_page(world.client("responder").get(f"/questions/{row.pk}"))
    offered = [tag["value"] for tag in page.find_all(name="answer")]
    assert len(set(offered)) == count
    post(world, row, "answer", answer=offered[0])
    settled_row = inquiries.get_inquiry(row.pk)
    assert (settled_row.state, repr(settled_row.answer)) == ("answered", repr(value))


def test_a_text_that_does_not_fit_comes_back_as_it_was_typed(world: World):
    row = making.question(world.run, Text(), "Name?")
    response = post(world, row, "answer", answer="<b>a\0b</b>", htmx=True)
    assert response.status_code == 422
    (field,) = [tag for tag in parse_page(response) if tag.tag == "textarea"]
    assert "<b>a" in field.text


def test_a_default_that_begins_with_a_line_break_keeps_it(world: World):
    row = making.question(world.run, Text(), "Name?")
    Inquiry.objects.filter(pk=row.pk).update(question=row.question | {"default": "\nRose"})
    page = parse_page(world.client("responder").get(f"/questions/{row.pk}"))
    (field,) = [tag for tag in page if tag.tag == "textarea"]
    assert field.text == "\n\nRose"  # HTML drops the first line end, the template's


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("action", ["answer", "decline"])
def test_answer_that_loses_a_race_names_the_first_person(world: World, action: str, htmx: bool):
    row = making.question(world.run, Text(), "Name?")
    making.settle(row, Answered("Rose"), making.decider(world.people["owner"]))
    field_name = {"answer": "answer", "decline": "note"}[action]
    form_fields: dict[str, Any] = {field_name: "Lily <b>", "htmx": htmx}
    response = post(world, row, action, **form_fields)
    page = parse_page(response)
    assert response.status_code == 409
    assert "answered by Owner" in page.find_one(role="alert").text
    fields = [tag.text for tag in page if tag.tag == "textarea"]
    assert fields == ["\nLily <b>"]  # HTML drops the first line end, the template's
    assert inquiries.get_inquiry(row.pk).answer == "Rose"


@pytest.mark.parametrize("htmx", [True, False])
def test_an_empty_secret_is_refused_and_stays_open(world: World, htmx: bool):
    row = making.question(world.run, Secret(), "Passphrase?")
    response = post(world, row, "answer", answer="", htmx=htmx)
    assert response.status_code == 422
    assert "Enter the secret, or decline." in parse_page(response).find_one(role="alert").text
    assert inquiries.get_inquiry(row.pk).state == "open"


@pytest.mark.parametrize("htmx", [True, False])
def test_refused_secret_is_not_in_the_response(
    world: World,
    htmx: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0.1)
    unheard = making.question(world.run, Secret(), "Passphrase?")
    settled_row = making.settle(making.question(world.run, Secret()), Redacted())
    statuses = []
    for row in (unheard, settled_row):
        response = post(world, row, "answer", answer=CANARY, htmx=htmx)
        statuses.append(response.status_code)
        assert CANARY not in response.content.decode()
        assert CANARY not in str(response.headers)
    assert statuses == [422, 409]
    assert "isn't waiting" in parse_page(post(world, unheard, "answer", answer=CANARY)).text
    assert CANARY not in "".join(str(record.__dict__) for record in caplog.records)


def test_a_crash_report_holds_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def breaks(_key: int, typed: str, _by: Any, **_more: Any) -> Inquiry:
        raise RuntimeError("boom")

    monkeypatch.setattr(resolution, "answer_inquiry", breaks)
    client = signed_in(world.people["responder"])
    client.raise_request_exception = False
    response = client.post(f"/questions/{world.question.pk}/answer", {"answer": CANARY})
    assert response.status_code == 500
    assert CANARY not in response.content.decode()
    assert [r for r in caplog.records if r.name == "django.request"]
    assert CANARY not in caplog.text


@pytest.mark.parametrize("action", ["answer", "decline"])
def test_a_question_of_jp_is_refused_in_words(world: World, action: str):
    Conversation.objects.filter(pk=world.conversation.pk).update(origin="mirrored")
    response = post(world, world.question, action, answer="true")
    assert response.status_code == 422
    assert "managed by jp" in parse_page(response).find_one(role="alert").text


def test_answer_that_loses_while_recording_returns_409(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async def second(_key: int, _typed: str, _by: Any, **_more: Any) -> Inquiry:
        raise AlreadySettled(world.question)

    monkeypatch.setattr(resolution, "answer_inquiry", second)
    assert post(world, world.question, "answer", answer="true").status_code == 409


def test_questions_page_lists_open_questions_oldest_first(world: World):
    second = making.question(world.run, Text(), "Name?")
    secret = making.question(world.run, Secret(), "Passphrase?")
    page = parse_page(world.client("responder").get("/questions"))
    cards = page.find_all(**{"data-outcome": "open", "data-kind": "inquiry_request"})
    assert [card["id"] for card in cards] == [
        f"question-{row.pk}" for row in (world.question, second, secret)
    ]
    assert [card["data-answer-type"] for card in cards] == ["boolean", "text", "secret"]
    assert page.find_one(id="question-count")["data-count"] == "3"
    assert page.find_one(type="password")["autocomplete"] == "off"
    assert "data-draft" not in page.find_one(type="password")
    assert not parse_page(world.client("rival").get("/questions")).find_all(
        **{"data-outcome": "open"}
    )


def test_the_list_can_be_narrowed_to_a_workspace(world: World):
    responder = world.people["responder"]
    Membership.objects.create(
        person=responder, workspace=world.other_workspace, role=Role.RESPONDER
    )
    other_run = making.start_run(making.conversation(world.other_workspace, "Their talk"))
    other_row = making.question(other_run, Text(), "Whose?")
    client = world.client("responder")

    def show(query: str) -> tuple[list[str], list[str], str | None]:
        page = parse_page(client.get(f"/questions{query}"))
        cards = page.find_all(**{"data-outcome": "open", "data-kind": "inquiry_request"})
        chips = [" ".join(tag.text.split()) for tag in page if tag.get("class") == "chip"]
        return [card["id"] for card in cards], chips, page.find_one(id="page").get("data-workspace")

    own_id, other_id = f"question-{world.question.pk}", f"question-{other_row.pk}"
    chips = ["All 2", "Elsewhere 1", "Garden 1"]
    assert show("") == ([own_id, other_id], chips, None)
    elsewhere = world.other_workspace.pk
    assert show(f"?workspace={elsewhere}") == ([other_id], chips, str(elsewhere))
    making.settle(other_row, Cancelled(CancellationReason.LOST))
    chips = ["All 1", "Elsewhere 0", "Garden 1"]
    assert show(f"?workspace={elsewhere}") == ([], chips, str(elsewhere))
    for query in ("?workspace=0", "?workspace=x", f"?workspace={10**30}"):
        assert show(query) == ([own_id], [], None)


def test_a_card_shows_the_last_messages_before_its_question_and_the_call(world: World):
    conversation = making.conversation(world.workspace, "Long")
    run = making.start_run(conversation)
    kinds: list[EventKind] = [
        ChatRequest("First"),
        ChatResponse("message", "Second"),
        ChatRequest("Third"),
        ChatResponse("message", "<b>Fourth</b>"),
        ToolCallRequest("call_1", "deploy", {"service": "blog"}),
    ]
    journal.append_events(conversation.pk, [making.event(kind) for kind in kinds], run)
    row = making.question(run, Text(), "Where to?")
    path = f"/questions/{row.pk}/context"
    fragment = world.client("reader").get(path, headers=HTMX)
    text = " ".join(parse_page(fragment).text.split())
    assert "Second" in text
    assert "Fourth" in text
    assert "First" not in text
    assert "<b>" not in fragment.content.decode()
    assert "Tool call: deploy service=blog" in text
    page = parse_page(world.client("reader").get(path))
    assert page.find_one(id="main")
    assert "Where to?" in page.text


@pytest.mark.parametrize(("role", "forms"), [("reader", 0), ("responder", 2)])
def test_refresh_of_a_question_brings_a_card_to_a_page_that_lacks_it(
    world: World, role: str, forms: int
):
    """A page that has the card keeps it: somebody may be typing there."""
    path, client = f"/questions/{world.question.pk}", world.client(role)
    page = parse_page(client.get(f"{path}?lacks=card", headers=HTMX))
    card = page.find_one(id=f"question-{world.question.pk}")
    assert card["hx-swap-oob"] == "true"
    is_in_card = {"id": card["id"]}
    assert [tag.inside(**is_in_card) for tag in page if tag.tag == "form"] == [True] * forms
    assert ("hidden" in page.find_one(id="question-details")) == bool(forms)
    page = parse_page(client.get(path, headers=HTMX))
    assert not [tag for tag in page if tag.tag == "form"]


def test_context_names_the_authors_of_messages_as_the_transcript(world: World):
    conversation = making.conversation(world.workspace, "Long")
    run = making.start_run(conversation)
    kinds: list[EventKind] = [ChatRequest("Bring it online"), ToolCallRequest("call_1", "deploy")]
    journal.append_events(conversation.pk, [making.event(kind) for kind in kinds], run)
    row = making.question(run, Text(), "Where to?")

    def list_authors(path: str, css_class: str) -> list[str]:
        page = parse_page(world.client("reader").get(path))
        return [tag.text.split()[0] for tag in page if tag.get("class") == css_class]

    authors = list_authors(f"/conversations/{conversation.pk}", "message person")
    assert authors == ["Ada", "User"]
    assert list_authors(f"/questions/{row.pk}/context", "context-message") == authors


def test_question_forms_have_csrf_tokens_and_work_without_scripts(world: World):
    page = parse_page(world.client("responder").get("/questions"))
    (form,) = [tag for tag in page if tag.get("action") == f"/questions/{world.question.pk}/answer"]
    assert form["method"] == "post"
    inside = [tag for tag in page if form in tag.parents]
    assert next(tag["value"] for tag in inside if tag.get("name") == "csrfmiddlewaretoken")
    assert [tag["value"] for tag in inside if tag.get("name") == "answer"] == ["true", "false"]
    declines = page.find_one(action=f"/questions/{world.question.pk}/decline")
    inside = [tag for tag in page if declines in tag.parents]
    assert next(tag["value"] for tag in inside if tag.get("name") == "csrfmiddlewaretoken")
    assert [tag["maxlength"] for tag in inside if tag.get("name") == "note"] == ["2000"]


def test_enter_in_the_checkbox_beside_the_buttons_answers_nothing(world: World):
    page = parse_page(world.client("responder").get("/questions"))
    (form,) = [tag for tag in page if tag.get("action") == f"/questions/{world.question.pk}/answer"]
    inside = [tag for tag in page if form in tag.parents]
    assert [tag["name"] for tag in inside if tag.get("type") == "checkbox"] == ["remember"]
    first, *_ = [tag for tag in inside if tag.get("type") == "submit"]
    assert {"disabled", "hidden"} <= set(first)


def test_questions_page_lists_lost_questions_and_own_answers(world: World):
    own_row = making.settle(
        world.question, Answered(True), making.decider(world.people["responder"])
    )
    lost_row = making.settle(making.question(world.run), Cancelled(CancellationReason.LOST))
    page = parse_page(world.client("responder").get("/questions"))
    states = [(t["data-outcome"], t["data-reason"]) for t in page if t.get("class") == "row"]
    assert states == [("cancelled", "lost"), ("answered", "")]
    links = [tag["href"] for tag in page if tag.get("class") == "row-link"]
    page_url = f"/conversations/{world.conversation.pk}"
    assert links == [f"{page_url}?at={row.anchor}#{row.anchor}" for row in (lost_row, own_row)]
    owner_page = parse_page(world.client("owner").get("/questions"))
    assert [t["data-reason"] for t in owner_page if t.get("class") == "row"] == ["lost"]


def test_withdrawn_question_of_a_running_turn_does_not_say_that_it_ended(world: World):
    making.settle(world.question, Cancelled(CancellationReason.LOST))
    assert world.run.is_unfinished
    conversation_page = f"/conversations/{world.conversation.pk}"
    for path in ("/questions", conversation_page, "/audit?reason=lost"):
        page = parse_page(world.client("owner").get(path))
        assert "call or turn stopped waiting" in page.text, path
        assert "turn ended" not in page.text, path
        assert "calls have ended" not in page.text, path


def test_question_of_an_unknown_answer_type_can_be_declined(world: World):
    Inquiry.objects.filter(pk=world.question.pk).update(answer_type="colour")
    page = parse_page(world.client("responder").get("/questions"))
    assert "colour" in page.text
    assert page.find_one(action=f"/questions/{world.question.pk}/decline")
