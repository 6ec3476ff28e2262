"""The page of one question: its card or how it ended, its course, and what people saw of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store.database import clock
from jpweb.store.inbox import receipt_log
from jpweb.store.inbox.receipt_log import ReceiptTimes
from jpweb.store.models import (
    Inquiry,
    NotificationDelivery,
    NotificationDestination,
    PushDelivery,
    Run,
    SignIn,
)
from jpweb.store.notifications import push_subscriptions
from jpweb.stream.answer_type import Option, Secret, Select
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryOutcome
from tests.machine.sizes import mark_proof
from tests.runtime.notifications.push_scene import sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import MEMBERS, World

HIDDEN, REVEALED = "safe\u202eevil\U000e0041", "safe⟨U+202E⟩evil⟨hidden: A⟩"


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    receipt_buffer._pending_receipts.clear()
    receipt_buffer._written_receipts.clear()


def page_of(
    world: World, person_name: str, row: Inquiry | None = None, *, htmx: bool = False
) -> ParsedPage:
    row = row or world.question
    headers = {"HX-Request": "true"} if htmx else {}
    return parse_page(world.client(person_name).get(f"/questions/{row.pk}", headers=headers))


def steps(page: ParsedPage) -> list[str]:
    return [tag["data-step"] for tag in page if "data-step" in tag]


@pytest.mark.parametrize("person_name", MEMBERS)
def test_question_page_has_a_card_for_people_who_may_answer(world: World, person_name: str):
    page = page_of(world, person_name)
    card = page.find_one(id=f"question-{world.question.pk}")
    may_answer = person_name not in ("reader", "auditor only")
    assert ("data-question" in card) is may_answer
    assert bool(page.find_all(action=f"/questions/{world.question.pk}/answer")) is may_answer
    assert "hidden" in page.find_one(id="question-details") or not may_answer
    assert steps(page) == ["asked", "waiting"]


@pytest.mark.parametrize("option_count", [2, 9], ids=["buttons", "radio buttons"])
def test_hidden_characters_of_options_are_spelled_out(world: World, option_count: int):
    options = [Option(f"{number}{HIDDEN}", HIDDEN) for number in range(option_count)]
    row = making.question(world.run, Select(tuple(options)), HIDDEN)
    card = page_of(world, "responder", row).find_one(id=f"question-{row.pk}")
    assert f"1{REVEALED}" in card.text
    assert not {"\u202e", "\U000e0041"} & set(card.text)
    making.settle(row, Answered(f"1{HIDDEN}"), making.decider(world.people["owner"]))
    queue = parse_page(world.client("owner").get("/questions"))
    for page in (page_of(world, "owner", row), queue):
        assert f"1{REVEALED}" in page.text
        assert not {"\u202e", "\U000e0041"} & set(page.text)


def test_hidden_characters_of_a_decline_are_spelled_out(world: World):
    making.settle(world.question, Cancelled(CancellationReason.USER), note=HIDDEN)
    page = page_of(world, "owner")
    assert REVEALED in page.text
    assert not {"\u202e", "\U000e0041"} & set(page.text)


def test_a_question_whose_run_is_over_is_no_card(world: World):
    Run.objects.filter(pk=world.run.pk).update(state="lost")
    page = page_of(world, "owner")
    assert not page.find_all(action=f"/questions/{world.question.pk}/answer")
    assert "can't be answered here" in page.text


def test_question_page_shows_outcome_and_question(world: World):
    options = (Option("red", "like a rose"), Option("blue"))
    row = making.question(world.run, Select(options), "Which?\nOf these.")
    making.settle(row, Answered("red"), making.decider(world.people["owner"]))
    page = page_of(world, "reader", row)
    assert page.find_one(id=f"question-{row.pk}")["data-outcome"] == "answered"
    assert "like a rose" in page.find_one(id="question-details").text
    assert "Of these." in page.find_one(id="question-details").text
    assert steps(page) == ["asked", "settled"]
    assert "by Owner" in " ".join(page.find_one(id="timeline").text.split())


def test_question_page_shows_receipts_to_auditors_only(world: World):
    row, asked_at = world.question, world.question.asked_at
    owner, responder = world.people["owner"], world.people["responder"]

    def at(seconds: int) -> Any:
        return asked_at + timedelta(seconds=seconds)

    receipt_log.save_receipts(
        {
            (row.pk, owner.pk): ReceiptTimes(
                delivered=at(1), visible=at(2), focused=at(30), draft=at(40)
            ),
            (row.pk, responder.pk): ReceiptTimes(delivered=at(3)),
        }
    )
    address = NotificationDestination.objects.create(
        person=responder, workspace=world.workspace, url="mailto://secret", delay=5
    )
    NotificationDelivery.objects.create(
        destination=address, inquiry=row, sent_at=at(5), problem="no such host"
    )
    page = page_of(world, "auditor")
    assert steps(page) == [
        *("asked", "delivered_at", "visible_at", "notified", "focused_at", "draft_at", "waiting")
    ]
    course = " ".join(page.find_one(id="timeline").text.split())
    assert "Delivered to Owner (2 people in total)" in course
    assert "Notified: Responder — no such host" in course
    assert "mailto" not in course
    rows = [tag for tag in page if "data-receipt" in tag]
    assert [" ".join(tag.text.split()) for tag in rows] == [
        "Owner 1.0 s 2.0 s 30.0 s 40.0 s",
        "Responder 3.0 s never never never",
    ]
    for person_name in ("reader", "responder"):
        assert steps(page_of(world, person_name)) == ["asked", "waiting"]
        assert "Delivered to" not in page_of(world, person_name).text


def test_auditors_see_messages_to_browsers_in_order(world: World):
    row, responder = world.question, world.people["responder"]
    address = NotificationDestination.objects.create(
        person=responder, workspace=world.workspace, url="mailto://secret", delay=5
    )
    browser = push_subscriptions.save_subscription(
        sign_in(responder), **PushService().make_subscription(), delay=0
    )
    sent_at = row.asked_at + timedelta(seconds=5)
    PushDelivery.objects.create(
        person=responder, subscription=browser, inquiry=row, sent_at=sent_at
    )
    NotificationDelivery.objects.create(
        destination=address, inquiry=row, sent_at=sent_at + timedelta(seconds=1)
    )
    making.settle(row, Answered(True))
    course = " ".join(page_of(world, "auditor").find_one(id="timeline").text.split())
    assert "after 5.0 s Notified: Responder (in a browser) after 6.0 s" in course
    assert "after 6.0 s Notified: Responder Never shown" in course
    assert "Notified" not in page_of(world, "reader").text
    SignIn.objects.filter(pk=browser.sign_in_id).delete()
    course = " ".join(page_of(world, "auditor").find_one(id="timeline").text.split())
    assert "after 5.0 s Notified: Responder (in a browser) after 6.0 s" in course


def test_auditors_see_the_message_after_a_snooze_and_its_failure(world: World):
    row, responder = world.question, world.people["responder"]
    address = NotificationDestination.objects.create(
        person=responder, workspace=world.workspace, url="mailto://secret", delay=5
    )
    for number, problem in enumerate(("", "no such host")):
        NotificationDelivery.objects.create(
            destination=address, inquiry=row, return_number=number, problem=problem,
            sent_at=row.asked_at + timedelta(seconds=5 + number),
        )  # fmt: skip
    course = " ".join(page_of(world, "auditor").find_one(id="timeline").text.split())
    assert "after 5.0 s Notified: Responder after 6.0 s" in course
    assert "after 6.0 s Notified: Responder, after their snooze — no such host" in course


def test_a_settled_question_shows_receipts_that_are_not_written_yet(world: World):
    row, owner = world.question, world.people["owner"]
    receipt_buffer.note_reports(owner.pk, [(row.pk, "visible"), (row.pk, "draft")])
    assert steps(page_of(world, "auditor")) == ["asked", "waiting"]
    making.settle(row, Answered(True), making.decider(owner))
    assert steps(page_of(world, "reader", htmx=True)) == ["asked", "settled"]
    expected_steps = {"asked", "delivered_at", "visible_at", "draft_at", "settled"}
    assert set(steps(page_of(world, "auditor", htmx=True))) == expected_steps


def test_question_page_without_receipts_states_that_no_person_saw_it(world: World):
    making.settle(world.question, Cancelled(CancellationReason.LOST))
    assert page_of(world, "auditor").find_all(**{"data-receipt": "none"})


def test_a_page_that_shows_a_card_has_delivered_it(world: World):
    row, person = world.question, world.people["responder"]
    for path in ("/questions", f"/questions/{row.pk}", f"/conversations/{world.conversation.pk}"):
        receipt_buffer._pending_receipts.clear()
        world.client("responder").get(path)
        assert list(receipt_buffer._pending_receipts) == [(row.pk, person.pk)]
    receipt_buffer._pending_receipts.clear()
    world.client("reader").get(f"/questions/{row.pk}")
    making.settle(row, Answered(True))
    world.client("responder").get(f"/questions/{row.pk}")
    assert receipt_buffer._pending_receipts == {}


def test_question_page_over_htmx_omits_the_open_card(world: World):
    row = world.question
    page = page_of(world, "responder", htmx=True)
    assert [tag["id"] for tag in page if "hx-swap-oob" in tag] == ["timeline"]
    making.settle(row, Answered(True))
    page = page_of(world, "responder", htmx=True)
    assert [tag["id"] for tag in page if "hx-swap-oob" in tag] == [
        *(f"question-{row.pk}", "question-details", "timeline")
    ]
    assert "hidden" not in page.find_one(id="question-details")


def test_a_card_says_when_it_expires(world: World):
    assert "expires in" not in page_of(world, "owner").text
    at = timezone.now() + timedelta(hours=2, minutes=30, seconds=30)
    Inquiry.objects.filter(pk=world.question.pk).update(expires_at=at)
    page = page_of(world, "owner")
    (time_tag,) = [tag for tag in page if "data-remaining-seconds" in tag]
    assert time_tag.text == "2 h 30 min"
    assert 9000 < int(time_tag["data-remaining-seconds"]) <= 9030


def test_question_card_lists_previous_answers_unless_secret(world: World):
    first = making.settle(world.question, Answered(False), making.decider(world.people["owner"]))
    secret = making.settle(making.question(world.run, Secret()), Cancelled(CancellationReason.USER))
    assert secret.same_question_key == ""
    making.question(world.run, Secret())
    second_question = making.question(world.run)
    page = parse_page(world.client("responder").get("/questions"))
    before = [tag for tag in page if "data-previous-answer" in tag]
    assert [tag["data-previous-answer"] for tag in before] == [str(first.pk)]
    assert before[0].inside(id=f"question-{second_question.pk}")
    assert "No by Owner" in " ".join(before[0].text.split())


def test_the_default_is_marked(world: World):
    rows = Inquiry.objects.filter(pk=world.question.pk)
    rows.update(question=world.question.question | {"default": False})
    page = page_of(world, "owner")
    (button,) = [tag for tag in page if "data-default" in tag]
    assert (button.text.strip(), button["value"]) == ("No", "false")


def test_question_count_has_the_newest_question_without_secret_text(world: World):
    secret = making.question(world.run, Secret(), "The canary's name?")
    for row, ask in ((world.question, "Go on?"), (secret, "Secret requested")):
        html = render_to_string("_question_count.html", {"waiting_count": 2, "newest": row})
        waiting_tag = parse_page(html).find_one(id="question-count")
        assert (waiting_tag["data-newest"], waiting_tag["data-text"]) == (f"question-{row.pk}", ask)
        assert waiting_tag["data-href"] == f"/questions/{row.pk}"
        assert float(waiting_tag["data-asked-at"]) == pytest.approx(row.asked_at.timestamp())
        assert "canary" not in html
    prompt = render_to_string("_question_count.html", {"waiting_count": 2, "newest": world.prompt})
    assert (
        parse_page(prompt).find_one(id="question-count")["data-href"]
        == f"/prompts/{world.prompt.pk}"
    )
    assert "data-newest" not in render_to_string("_question_count.html", {"waiting_count": 0})


def test_a_transcript_and_the_audit_lead_to_the_page(world: World):
    url = f"/questions/{world.question.pk}"
    for path in (f"/conversations/{world.conversation.pk}", "/audit"):
        page = parse_page(world.client("auditor").get(path))
        assert [tag.text for tag in page if tag.get("href") == url] == ["Details"]


@pytest.mark.parametrize(("seconds", "text"), [(3, "waiting < 10 s"), (470, "waiting 7 min")])
def test_a_question_says_in_one_way_how_long_it_waits(
    world: World, monkeypatch: pytest.MonkeyPatch, seconds: int, text: str
):
    current_time = clock.now()
    monkeypatch.setattr(clock, "now", lambda: current_time)
    Inquiry.objects.filter(pk=world.question.pk).update(
        asked_at=current_time - timedelta(seconds=seconds)
    )
    for address in (f"/questions/{world.question.pk}", "/questions", "/"):
        page = parse_page(world.client("responder").get(address))
        words = " ".join(page.text.split())
        assert text in words, address
        assert "waiting since" not in words
        assert "minutes ago" not in words


@pytest.mark.parametrize("person_name", ["reader", *mark_proof("auditor only", "responder")])
@pytest.mark.parametrize("page_name", ["", "/context"])
def test_links_of_the_page_lead_to_pages_of_the_person(
    world: World, person_name: str, page_name: str
):
    client, url = world.client(person_name), f"/questions/{world.question.pk}{page_name}"
    links = {tag["href"] for tag in parse_page(client.get(url)) if tag.tag == "a"}
    statuses = {link: client.get(urljoin(url, link)).status_code for link in links}
    assert {link: status for link, status in statuses.items() if status not in (200, 302)} == {}


def test_redaction_is_offered_for_an_answer_or_a_reason(world: World):
    decider = making.decider(world.people["owner"])

    def read_text(outcome: InquiryOutcome, note: str = "") -> str:
        row = making.settle(making.question(world.run), outcome, decider)
        Inquiry.objects.filter(pk=row.pk).update(note=note)
        return page_of(world, "auditor", row).text

    declined = Cancelled(CancellationReason.USER)
    assert "Redact the answer…" in read_text(Answered(answer=True))
    assert "Redact the" not in read_text(declined)
    assert "Redact the reason…" in read_text(declined, "Ask Ada")
