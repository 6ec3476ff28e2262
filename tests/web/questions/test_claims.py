"""Claims and snoozes of questions: by plain forms, and live over the sockets of pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.periodic import end_claims
from jpweb.store.choices import ApprovalKind, ApprovalState
from jpweb.store.database import clock
from jpweb.store.inbox import claims, snoozes
from jpweb.store.models import ApprovalClaim, Inquiry, QuestionClaim, QuestionSnooze
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.sockets import Socket, connect_page
from tests.web.world import World

HTMX = {"HX-Request": "true"}


def post(world: World, name: str, act: str, **data: str) -> Any:
    return world.client(name).post(f"/questions/{world.question.pk}/{act}", data)


def show_queue(world: World, name: str) -> ParsedPage:
    html_page = parse_page(world.client(name).get("/questions"))
    assert (html_page.crossed, html_page.unclosed) == ([], [])
    return html_page


def find_claim(world: World, html_page: ParsedPage) -> Tag:
    return html_page.find_one(id=f"claim-{world.question.pk}")


def find_forms(world: World, html_page: ParsedPage, act: str) -> list[Tag]:
    action = f"/questions/{world.question.pk}/{act}"
    hidden = [tag for tag in html_page.find_all(**{"class": "link"}) if "hidden" in tag]
    hidden_forms = [parent for tag in hidden for parent in tag.parents]
    return [tag for tag in html_page.find_all(action=action) if tag not in hidden_forms]


def test_claim_by_a_form_shows_its_holder_to_all_and_release_to_the_holder(world: World):
    link = find_claim(world, show_queue(world, "responder"))["href"]
    assert find_forms(world, parse_page(world.client("responder").get(link)), "claim")
    response = post(world, "responder", "claim")
    assert response["Location"] == f"/questions#question-{world.question.pk}"
    own_page, other_page = show_queue(world, "responder"), show_queue(world, "owner")
    for html_page in (own_page, other_page):
        assert "Responder is on it · " in find_claim(world, html_page).text
        assert not find_forms(world, html_page, "claim")
        assert find_forms(world, html_page, "answer"), "a claim keeps nobody from answering"
    assert find_forms(world, own_page, "release")
    assert not find_forms(world, other_page, "release")


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "no scripts"])
def test_claim_stays_in_a_card_whose_answer_is_refused(world: World, headers: dict[str, str]):
    post(world, "responder", "claim")
    address = f"/questions/{world.question.pk}/answer"
    response = world.client("owner").post(address, {"answer": "perhaps"}, headers=headers)
    assert response.status_code == 422
    assert "Responder is on it · " in find_claim(world, parse_page(response)).text


def test_claim_counts_how_long_its_holder_is_on_it(world: World):
    post(world, "responder", "claim")
    QuestionClaim.objects.update(claimed_at=timezone.now() - timedelta(minutes=5))
    html_page = show_queue(world, "owner")
    claim = find_claim(world, html_page)
    assert "Responder is on it · 5 min" in claim.text
    (elapsed,) = [tag for tag in html_page if tag.tag == "time" and claim in tag.parents]
    assert int(elapsed["data-waiting-seconds"]) >= 300


def test_sign_out_ends_the_claims_of_the_person(world: World):
    client = world.client("responder")
    client.post(f"/questions/{world.question.pk}/claim")
    assert QuestionClaim.objects.exists()
    client.post("/sign-out")
    assert "is on it" not in find_claim(world, show_queue(world, "owner")).text


def test_snooze_moves_the_card_to_the_list_until_it_is_woken(world: World):
    assert post(world, "responder", "snooze", **{"for": "1h"}).status_code == 302
    html_page = show_queue(world, "responder")
    assert not html_page.find_all(id=f"question-{world.question.pk}")
    assert html_page.find_one(id="question-count")["data-count"] == "0"
    assert "Snoozed (1)" in html_page.find_one(id="snoozed").text
    assert find_forms(world, html_page, "wake")
    assert show_queue(world, "owner").find_one(id="question-count")["data-count"] == "1"
    post(world, "responder", "wake")
    assert show_queue(world, "responder").find_one(id=f"question-{world.question.pk}")


def test_snooze_form_on_a_page_of_its_own_has_no_card_to_replace(world: World):
    address, key = f"/questions/{world.question.pk}/snooze/choose", f"snooze-{world.question.pk}"
    client = world.client("responder")
    page_form = parse_page(client.get(address)).find_one(id=key)
    assert not [name for name in page_form if name.startswith("hx-")]
    card_form = parse_page(client.get(address, headers=HTMX)).find_one(id=key)
    assert card_form["hx-target"] == f"#question-{world.question.pk}"


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [("1h", "it expires within minutes"), ("soon", "Choose for how long")],
)
def test_snooze_that_is_refused_keeps_the_card_and_says_why(
    world: World, choice: str, sentence: str
):
    expires_at = timezone.now() + timedelta(minutes=3)
    Inquiry.objects.filter(pk=world.question.pk).update(expires_at=expires_at)
    url = f"/questions/{world.question.pk}/snooze"
    client = world.client("responder")
    plain = client.post(url, {"for": choice})
    response = client.post(url, {"for": choice}, headers=HTMX)
    for refusal in (plain, response):
        assert refusal.status_code == 422
        assert sentence in parse_page(refusal).text
    assert response["HX-Reswap"] == "outerHTML"
    assert not QuestionSnooze.objects.exists()


@pytest.mark.parametrize("choice", ["1h", "soon"])
def test_snooze_of_a_settled_question_shows_its_outcome(world: World, choice: str):
    url, key = f"/questions/{world.question.pk}/snooze", f"question-{world.question.pk}"
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    client = world.client("responder")
    for headers in ({}, HTMX):
        response = client.post(url, {"for": choice}, headers=headers)
        assert response.status_code == 409
        html_page = parse_page(response)
        assert html_page.find_one(id=key)["data-outcome"] == "answered"
        assert not html_page.find_all(action=url.replace("snooze", "answer"))
        assert response["HX-Reswap"] == "outerHTML"


@pytest.mark.parametrize("act", ["snooze", "claim"])
def test_choosing_for_a_settled_question_leads_to_its_page(world: World, act: str):
    url = f"/questions/{world.question.pk}"
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    client = world.client("responder")
    assert client.get(f"{url}/{act}/choose").headers.get("Location") == url
    if act == "snooze":
        response = client.get(f"{url}/{act}/choose", headers=HTMX)
        assert response["HX-Retarget"] == f"#question-{world.question.pk}"
        card = parse_page(response).find_one(id=f"question-{world.question.pk}")
        assert card["data-outcome"] == "answered"


def test_queue_takes_the_same_queries_for_many_claims_and_snoozes(world: World):
    client = world.client("responder")

    def count_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            client.get("/questions")
        return len(queries)

    def add_both() -> None:
        claims.claim_question(making.question(world.run), world.people["owner"])
        snoozed = making.question(world.run)
        snoozes.snooze_question(
            snoozed, world.people["responder"].pk, clock.now() + timedelta(hours=1)
        )

    add_both()
    before = count_queries()
    for _ in range(5):
        add_both()
    assert count_queries() == before


async def test_claim_and_its_end_come_to_open_pages_at_once(shared_world: World):
    people, question = shared_world.people, shared_world.question
    hello = {"inbox": True, "questions": [question.pk]}
    async with (
        connect_page(people["owner"], **hello) as inbox_socket,
        connect_page(people["reader"], **hello) as reading,
    ):
        for socket in (inbox_socket, reading):
            await socket.receive_all()
        await run_in_db_thread(claims.claim_question, question, people["responder"])
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        html_page = parse_page(await inbox_socket.receive_all())
        claim = find_claim(shared_world, html_page)
        assert "Responder is on it · " in claim.text
        assert claim["data-holder"] == str(people["responder"].pk)
        assert await reading.hears_nothing()
        await run_in_db_thread(
            QuestionClaim.objects.update, until=timezone.now() - timedelta(seconds=1)
        )
        assert await end_claims.end_claims_and_snoozes() == 1
        html_page = parse_page(await inbox_socket.receive_all())
        assert "is on it" not in find_claim(shared_world, html_page).text


async def test_page_that_connects_with_an_older_claim_gets_the_present_one(shared_world: World):
    question = shared_world.question
    hello = {"inbox": True, "questions": [question.pk], "claims": [[question.pk, 999]]}
    async with connect_page(shared_world.people["owner"], **hello) as inbox_socket:
        html_page = parse_page(await inbox_socket.receive_all())
        assert "data-claim" not in find_claim(shared_world, html_page)


@pytest.mark.parametrize("name", ["outsider", "reader"])
async def test_socket_hides_claims_from_people_who_may_not_answer(shared_world: World, name: str):
    people, question = shared_world.people, shared_world.question
    approval = await run_in_db_thread(making.prompt, shared_world.run)
    await run_in_db_thread(claims.claim_question, question, people["responder"])
    await run_in_db_thread(claims.claim_approval, approval, people["responder"])
    hello = {
        "inbox": True,
        "questions": [question.pk],
        "claims": [[question.pk, 999]],
        "approvals": [approval.pk],
        "approval_claims": [[approval.pk, 999]],
    }
    async with connect_page(people[name], **hello) as inbox_socket:
        html = await inbox_socket.receive_all()
    assert "is on it" not in html
    assert "Responder" not in html


async def test_snooze_takes_the_card_off_the_pages_of_its_person_alone(shared_world: World):
    people, question = shared_world.people, shared_world.question
    hello = {"inbox": True, "questions": [question.pk]}
    async with (
        connect_page(people["responder"], **hello) as own_socket,
        connect_page(people["owner"], **hello) as other,
    ):
        for socket in (own_socket, other):
            await socket.receive_all()
        until = clock.now() + timedelta(hours=1)
        await run_in_db_thread(snoozes.snooze_question, question, people["responder"].pk, until)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        html_page = parse_page(await own_socket.receive_all())
        assert html_page.find_one(id=f"question-{question.pk}")["hx-swap-oob"] == "delete"
        assert html_page.find_one(id="question-count")["data-count"] == "0"
        assert html_page.find_one(id="snoozed").text.strip().startswith("Snoozed (1)")
        html_page = parse_page(await other.receive_all())
        assert html_page.find_one(id="question-count")["data-count"] == "1"
        assert not html_page.find_all(id="snoozed")

        until = clock.now() - timedelta(seconds=1)
        await run_in_db_thread(QuestionSnooze.objects.update, until=until)
        await end_claims.end_claims_and_snoozes()
        html_page = parse_page(await own_socket.receive_all())
        assert html_page.find_one(id=f"question-{question.pk}")["data-outcome"] == "open"
        assert "hidden" in html_page.find_one(id="snoozed")


@pytest.mark.parametrize("is_woken", [False, True], ids=["by itself", "by its person"])
async def test_question_returned_from_a_snooze_counts_as_the_newest(
    shared_world: World, is_woken: bool
):
    """A hidden page notifies of what came later than what it named before."""
    person, question = shared_world.people["responder"], shared_world.question
    newer = await run_in_db_thread(making.question, shared_world.run)
    until = clock.now() + (timedelta(hours=1) if is_woken else snoozes.SIGNAL_TIME / 2)

    async def read_newest(socket: Socket) -> tuple[str, float]:
        count = parse_page(await socket.receive_all()).find_one(id="question-count")
        return count["data-newest"], float(count["data-asked-at"])

    async with connect_page(person, inbox=True) as socket:
        await run_in_db_thread(snoozes.snooze_question, question, person.pk, until)
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        known = (f"question-{newer.pk}", newer.asked_at.timestamp())
        assert await read_newest(socket) == known
        if is_woken:
            await run_in_db_thread(snoozes.wake_question, question, person.pk)
        else:
            await run_in_db_thread(QuestionSnooze.objects.update, until=newer.asked_at)
            await end_claims.end_claims_and_snoozes()
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        attributes = (f"question-{question.pk}", until.timestamp())
        assert await read_newest(socket) == (known if is_woken else attributes)
        await run_in_db_thread(making.settle, question, Answered(True))
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        assert await read_newest(socket) == known


@pytest.mark.parametrize("kind", list(ApprovalKind))
def test_claim_of_an_approval_by_a_form_shows_its_holder_to_all(world: World, kind: ApprovalKind):
    approval = making.prompt(world.run, kind)
    client = world.client("responder")
    queue = show_queue(world, "responder")
    assert " ".join(queue.find_one(id=f"approval-{approval.pk}").text.split()).count("Garden") == 1
    link = queue.find_one(id=f"approval-claim-{approval.pk}")["href"]
    claim_url = f"/prompts/{approval.pk}/claim"
    assert parse_page(client.get(link)).find_all(action=claim_url)
    response = client.post(claim_url)
    assert response["Location"] == f"/questions#approval-{approval.pk}"
    release_url = f"/prompts/{approval.pk}/release"
    for name, is_holder in (("responder", True), ("owner", False)):
        html_page = show_queue(world, name)
        claim = html_page.find_one(id=f"approval-claim-{approval.pk}")
        assert "Responder is on it · " in claim.text
        assert html_page.find_all(action=f"/prompts/{approval.pk}/allow")
        buttons = [tag for tag in html_page.find_all(**{"class": "link"}) if claim in tag.parents]
        assert ["hidden" in tag for tag in buttons] == [not is_holder]
    client.post(release_url)
    own_response = client.post(claim_url, headers=HTMX)
    assert parse_page(own_response).find_one(id=f"approval-claim-{approval.pk}")["data-claim"]
    world.client("owner").post(f"/prompts/{approval.pk}/allow")
    approval.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED


async def test_claim_of_an_approval_comes_to_open_pages_at_once(shared_world: World):
    people = shared_world.people
    approval = await run_in_db_thread(making.prompt, shared_world.run)
    claim_id = f"approval-claim-{approval.pk}"
    hello = {"inbox": True, "approvals": [approval.pk], "approval_claims": [[approval.pk, 999]]}
    async with connect_page(people["owner"], **hello) as inbox_socket:
        html_page = parse_page(await inbox_socket.receive_all())
        assert "data-claim" not in html_page.find_one(id=claim_id)
        await run_in_db_thread(claims.claim_approval, approval, people["responder"])
        await publisher.publish_questions_changed(shared_world.workspace.pk)
        html_page = parse_page(await inbox_socket.receive_all())
        claim = html_page.find_one(id=claim_id)
        assert "Responder is on it · " in claim.text
        assert claim["data-holder"] == str(people["responder"].pk)
        await run_in_db_thread(
            ApprovalClaim.objects.update, until=timezone.now() - timedelta(seconds=1)
        )
        assert await end_claims.end_claims_and_snoozes() == 1
        html_page = parse_page(await inbox_socket.receive_all())
        assert "is on it" not in html_page.find_one(id=claim_id).text
