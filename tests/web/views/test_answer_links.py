from __future__ import annotations

import asyncio
import csv
import io
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import OperationalError
from django.test import AsyncClient, Client
from django.utils import timezone

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.store import inquiries
from jpweb.store.choices import Role, RunState
from jpweb.store.models import AnswerLink, Inquiry, JournalEntry, Membership, Run
from jpweb.store.notifications import answer_links
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.errors import InvalidAnswer
from jpweb.web.security import rate_limits
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World, signed_in

CANARY = "canary-91f0"
PRIVATE = "<b>Roses</b> to go?"


@pytest.fixture
def text(world: World) -> Inquiry:
    return making.question(world.run, Text(), PRIVATE)


def link(world: World, row: Inquiry | None = None, name: str = "responder") -> str:
    return f"/answer/{answer_links.issue_link((row or world.question).pk, world.people[name].pk)}"


def open_link(url: str, client: Client | None = None, status: int = 200) -> ParsedPage:
    response = (client or Client()).get(url)
    assert response.status_code == status
    page = parse_page(response)
    assert (page.crossed, page.unclosed) == ([], [])
    return page


def test_answer_link_page_has_one_card_and_can_be_opened_repeatedly(world: World, text: Inquiry):
    url = link(world, text)
    for _ in range(3):
        page = open_link(url)
        assert "Question for Responder" in page.text
        assert PRIVATE in page.text
        assert "Go on?" not in page.text
        links = [tag.get("href", "") for tag in page]
        assert not [link for link in links if link.startswith("/conversations/")]
    assert Client().head(url).status_code == 200
    assert AnswerLink.objects.get().used_at is None
    text.refresh_from_db()
    assert text.state == "open"


def test_an_answer_is_given_as_that_person_and_uses_the_link_up(world: World, text: Inquiry):
    url = link(world, text)
    response = Client(enforce_csrf_checks=True).post(url, {"answer": "Seven"})
    assert response.status_code == 200
    assert "Your answer was sent." in response.content.decode()
    row = inquiries.get_inquiry(text.pk)
    assert (row.state, row.answer, row.decider) == ("answered", "Seven", world.people["responder"])
    assert AnswerLink.objects.get().used_at is not None
    page = open_link(url)
    assert "This question is closed" in page.text
    assert "Seven" in page.text
    assert not page.find_all(name="answer")


def test_a_question_is_declined_with_a_note(world: World):
    url = link(world)
    response = Client().post(url, {"do": "decline", "note": "Not on a Friday"})
    assert "You declined" in response.content.decode()
    assert parse_page(response).find_one(**{"class": "note"}).text == "Not on a Friday"
    row = inquiries.get_inquiry(world.question.pk)
    assert (row.state, row.reason, row.note) == ("cancelled", "user", "Not on a Friday")
    assert row.decider == world.people["responder"]


def test_the_decline_form_declines_without_its_button(world: World, text: Inquiry):
    url = link(world, text)
    inputs = [tag for tag in open_link(url) if tag.inside(**{"class": "decline-form"})]
    fields = {tag["name"]: tag.get("value", "") for tag in inputs if tag.tag == "input"}
    Client().post(url, fields | {"note": "Not on a Friday"})
    row = inquiries.get_inquiry(text.pk)
    assert (row.state, row.note) == ("cancelled", "Not on a Friday")


def test_a_form_without_a_field_for_the_text_gives_no_answer(world: World, text: Inquiry):
    url = link(world, text)
    response = Client().post(url, {"note": "Not on a Friday"})
    assert response.status_code == 422
    assert "Enter an answer" in parse_page(response).find_one(role="alert").text
    assert inquiries.get_inquiry(text.pk).state == "open"
    assert Client().post(url, {"answer": ""}).status_code == 200
    assert inquiries.get_inquiry(text.pk).answer == ""


def test_an_answer_counts_for_the_turn_where_that_is_ticked(world: World):
    Client().post(link(world), {"answer": "true", "remember": "turn"})
    assert inquiries.is_remembered(inquiries.get_inquiry(world.question.pk))


def test_answer_link_is_not_used_by_an_invalid_answer(world: World):
    url = link(world)
    response = Client().post(url, {"answer": "maybe", "remember": "turn"})
    assert response.status_code == 422
    page = parse_page(response)
    assert page.find_one(role="alert").text
    assert "checked" in page.find_one(name="remember")
    assert AnswerLink.objects.get().used_at is None
    assert Client().post(url, {"answer": "true"}).status_code == 200


def test_answer_link_after_another_answer_returns_409(world: World):
    url = link(world)
    making.settle(world.question, making.ANSWER, making.decider(world.people["owner"]))
    response = Client().post(url, {"answer": "false"})
    assert response.status_code == 409
    assert "Your answer wasn't used." in parse_page(response).find_one(role="alert").text
    assert inquiries.get_inquiry(world.question.pk).decider == world.people["owner"]
    assert "by Owner" in " ".join(open_link(url).text.split())


LATE_FORMS = [{"answer": CANARY}, {"do": "decline", "note": CANARY}]
#: Changes after which a link settles nothing, with the status of its form.
LATE_CHANGES: dict[str, tuple[Any, int]] = {
    "settled": (lambda row: making.settle(row, making.ANSWER), 409),
    "closed": (lambda _row: Run.objects.update(state=RunState.LOST), 410),
    "barred": (lambda _row: Membership.objects.update(role=Role.READER), 403),
}


@pytest.mark.parametrize("fields", LATE_FORMS, ids=["answer", "decline"])
@pytest.mark.parametrize("page", LATE_CHANGES)
def test_draft_that_a_link_does_not_send_is_shown(
    world: World, text: Inquiry, page: str, fields: dict[str, str]
):
    url, (change, status) = link(world, text), LATE_CHANGES[page]
    change(text)
    response = Client().post(url, fields)
    assert response.status_code == status
    draft = parse_page(response).find_one(readonly="")
    assert (draft.tag, draft.text.strip()) == ("textarea", CANARY)
    assert not open_link(url, status=Client().get(url).status_code).find_all(readonly="")


@pytest.mark.parametrize("fields", LATE_FORMS, ids=["answer", "decline"])
@pytest.mark.parametrize("page", LATE_CHANGES)
def test_draft_for_a_secret_question_is_never_shown(
    world: World, page: str, fields: dict[str, str]
):
    row = making.question(world.run, Secret(), "Passphrase?")
    url, (change, status) = link(world, row), LATE_CHANGES[page]
    change(row)
    response = Client().post(url, fields)
    assert response.status_code == status
    assert CANARY not in response.content.decode()
    assert not parse_page(response).find_all(readonly="")


@pytest.mark.parametrize("fields", LATE_FORMS, ids=["answer", "decline"])
def test_draft_that_an_invalid_link_gets_is_never_shown(
    world: World, text: Inquiry, fields: dict[str, str]
):
    """Without a row nothing tells whether it is a secret."""
    url = link(world, text)
    AnswerLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = Client().post(url, fields)
    assert response.status_code == 404
    assert CANARY not in response.content.decode()


@pytest.mark.parametrize("fields", [{"answer": "false"}, {"do": "decline"}])
def test_answer_link_used_again_reports_the_earlier_answer(world: World, fields: dict[str, str]):
    url = link(world)
    assert Client().post(url, {"answer": "true"}).status_code == 200
    response = Client().post(url, fields)
    assert response.status_code == 409
    assert "You already responded" in parse_page(response).find_one(role="alert").text
    assert "wasn't used" not in response.content.decode()
    assert inquiries.get_inquiry(world.question.pk).answer is True


def test_answer_link_used_first_of_two_settles_the_question(world: World):
    first, second = link(world), link(world, name="owner")
    assert Client().post(first, {"answer": "true"}).status_code == 200
    assert Client().post(second, {"answer": "false"}).status_code == 409
    assert inquiries.get_inquiry(world.question.pk).answer is True


def test_answer_link_that_loses_a_race_returns_409(world: World, monkeypatch: pytest.MonkeyPatch):
    """The question is settled after the link was looked at."""
    url, find = link(world), answer_links.resolve_link

    def overtaken(token: str) -> Any:
        answer_link = find(token)
        if answer_link.inquiry.state == "open":
            making.settle(world.question, making.ANSWER)
        return answer_link

    monkeypatch.setattr(answer_links, "resolve_link", overtaken)
    response = Client().post(url, {"do": "decline", "note": "Not on a Friday"})
    assert response.status_code == 409
    assert parse_page(response).find_one(readonly="").text.strip() == "Not on a Friday"
    assert inquiries.get_inquiry(world.question.pk).state == "answered"


@pytest.mark.parametrize("role", [Role.READER, None])
def test_answer_link_of_a_person_without_the_role_returns_403(
    world: World, text: Inquiry, role: Role | None
):
    url = link(world, text)
    memberships = Membership.objects.filter(person=world.people["responder"])
    memberships.update(role=role) if role else memberships.delete()
    for response in (Client().get(url), Client().post(url, {"answer": "Seven"})):
        assert response.status_code == 403
        assert "can no longer answer questions" in response.content.decode()
        assert "Roses" not in response.content.decode()
    assert inquiries.get_inquiry(text.pk).state == "open"


def test_answer_link_of_a_removed_member_shows_only_the_outcome(world: World, text: Inquiry):
    url = link(world, text)
    Client().post(url, {"answer": CANARY})
    assert CANARY in open_link(url).text
    Membership.objects.filter(person=world.people["responder"]).delete()
    page = open_link(url)
    assert "Answered" in page.text
    for private_text in (CANARY, "Roses", "Responder"):
        assert private_text not in page.text


def test_a_link_of_a_run_that_is_over_says_so(world: World):
    url = link(world)
    Run.objects.update(state=RunState.LOST)
    assert "This question is closed" in open_link(url, status=410).text
    assert Client().post(url, {"answer": "true"}).status_code == 410
    assert inquiries.get_inquiry(world.question.pk).state == "open"


def test_answer_link_that_expired_looks_like_an_unknown_one(world: World):
    url = link(world)
    AnswerLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    texts = set()
    for path in (url, "/answer/mistyped"):
        for response in (Client().get(path), Client().post(path, {"answer": "true"})):
            assert response.status_code == 404
            texts.add(parse_page(response).text)
    assert len(texts) == 1
    assert "valid for seven days" in texts.pop()
    assert inquiries.get_inquiry(world.question.pk).state == "open"


def test_refused_links_above_the_limit_get_429_and_a_good_one_works(
    world: World, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "jpweb.security")
    tries = rate_limits.REFUSED_LINK_LIMIT.count + 1
    statuses = [Client().get(f"/answer/{CANARY}").status_code for _ in range(tries)]
    assert statuses == [404] * (tries - 1) + [429]
    assert caplog.messages == ['answer link refused from="127.0.0.1"'] * (tries - 1)
    assert Client().post(link(world), {"answer": "true"}).status_code == 200


def test_answer_link_leads_only_its_person_to_the_conversation(world: World):
    anchor, url = world.question.anchor, link(world)
    target_url = f"/conversations/{world.conversation.pk}?at={anchor}#{anchor}"
    assert open_link(url, signed_in(world.people["responder"])).find_one(href=target_url)
    assert not open_link(url, signed_in(world.people["owner"])).find_all(href=target_url)
    assert "You're answering as Responder" in open_link(url, signed_in(world.people["owner"])).text


@pytest.mark.parametrize("page", ["question", "settled", "closed", "barred", "invalid"])
def test_answer_link_pages_are_not_stored_indexed_or_sent_as_referrer(world: World, page: str):
    url = link(world)
    changes: dict[str, Any] = {
        "settled": lambda: making.settle(world.question, making.ANSWER),
        "closed": lambda: Run.objects.update(state="lost"),
        "barred": lambda: Membership.objects.all().delete(),
        "invalid": lambda: AnswerLink.objects.all().delete(),
    }
    changes.get(page, lambda: None)()
    response = Client().get(url)
    assert f"answer_links/{page}.html" in {template.name for template in response.templates}
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert "noindex" in response["X-Robots-Tag"]
    assert "noindex" in parse_page(response).find_one(name="robots")["content"]


def test_answer_link_with_a_trailing_slash_sends_no_referrer(world: World):
    response = Client().get(f"{link(world)}/")
    assert (response.status_code, response["Referrer-Policy"]) == (404, "no-referrer")


@pytest.mark.parametrize(("problem", "status"), [(OperationalError, 503), (ZeroDivisionError, 500)])
def test_the_code_of_a_link_that_fails_is_in_no_log_and_no_referer(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    problem: type[Exception],
    status: int,
):
    url = link(world)

    def fail(_token: str) -> Any:
        raise problem(f"{url} cannot be served")

    monkeypatch.setattr(answer_links, "resolve_link", fail)
    client = Client(raise_request_exception=False)
    response = client.get(url)
    assert response.status_code == status
    assert response["Referrer-Policy"] == "no-referrer"
    handlers = [handler for handler in logging.getLogger().handlers if handler.name == "stderr"]
    lines = [handlers[0].format(record) for record in caplog.records]
    assert any("/answer/[code]" in line for line in lines)
    assert not any(url.rpartition("/")[2] in line for line in lines)


@pytest.fixture
def quiet_end() -> Iterator[None]:
    yield
    assert resolution.handover._arrivals == {}


async def test_answer_link_secret_reaches_only_the_call(
    shared_world: World, quiet_end: None, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(1)
    row = await run_in_db_thread(making.question, shared_world.run, Secret(), "Passphrase?")
    url = await run_in_db_thread(link, shared_world, row)
    page = (await AsyncClient().get(url)).content.decode()
    assert 'type="password"' in page
    call = asyncio.create_task(resolution.wait_for_secret(row))
    async with asyncio.timeout(10):
        while row.pk not in resolution.handover._arrivals:  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(0.01)
    async with ThreadSensitiveContext():  # as the server gives each request one
        response = await AsyncClient().post(url, {"answer": CANARY})
    assert await call == CANARY
    assert response.status_code == 200
    assert (await run_in_db_thread(inquiries.get_inquiry, row.pk)).channel == "link"
    after = (await AsyncClient().get(url)).content.decode()
    row_texts = await run_in_db_thread(
        lambda: repr([*JournalEntry.objects.values_list(), *Inquiry.objects.values_list()])
    )
    assert "Redacted" in after
    for text in (response.content.decode(), after, row_texts, caplog.text):
        assert CANARY not in text


@pytest.mark.parametrize("refusal", [NoWaitingCall(), InvalidAnswer("Not so.")])
def test_answer_link_never_shows_the_secret(
    world: World, monkeypatch: pytest.MonkeyPatch, refusal: Exception
):
    monkeypatch.setattr(resolution, "answer_inquiry", AsyncMock(side_effect=refusal))
    url = link(world, making.question(world.run, Secret(), "Passphrase?"))
    response = Client().post(url, {"answer": CANARY})
    assert response.status_code == 422
    assert response.context["typed_text"] == ""
    assert CANARY not in response.content.decode()


def test_answer_link_stays_when_its_secret_is_discarded(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resolution, "answer_inquiry", AsyncMock(side_effect=NoWaitingCall))
    row = making.question(world.run, Secret(), "Passphrase?")
    url = link(world, row)
    response = Client().post(url, {"answer": CANARY})
    assert response.status_code == 422
    assert "was discarded, not stored" in response.content.decode()
    assert CANARY not in response.content.decode()
    assert AnswerLink.objects.get().used_at is None


@pytest.mark.parametrize("form", [{"answer": "true"}, {"do": "decline"}], ids=["answer", "decline"])
def test_answer_by_a_link_is_marked_on_all_pages(world: World, form: dict[str, str]):
    Client().post(link(world), form)
    auditor = world.client("auditor")
    pages = f"/questions/{world.question.pk}", f"/conversations/{world.conversation.pk}", "/audit"
    for path in pages:
        text = " ".join(parse_page(auditor.get(path)).text.split())
        assert text.count("by an answer link") == 1, path
    assert "via an answer link" in parse_page(auditor.get("/audit/ledger")).text
    (row,) = csv.DictReader(io.StringIO(b"".join(auditor.get("/audit.csv")).decode()))
    assert row["channel"] == "link"
