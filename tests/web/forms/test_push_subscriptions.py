"""Browsers with Web Push on the Notifications page, and answers by a notification's button."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from jpweb.store.annotations import mentions, threads
from jpweb.store.choices import Act
from jpweb.store.models import JournalEntry, LedgerEntry, Mention, PushSubscription
from jpweb.store.notifications import push_subscriptions
from jpweb.stream import wire
from jpweb.stream.answer_type import Secret
from tests.runtime.notifications.push_service import PushService
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

ENDPOINT = {"endpoint": "https://push.example.org/capability-9f", "browser_delay": "5"}


def add(client: Client, **changes: str) -> Any:
    form = PushService().make_subscription() | ENDPOINT | changes
    return client.post("/notifications/browsers/add", form, follow=True)


def fetch_message(client: Client, key: int) -> dict[str, Any]:
    message: dict[str, Any] = client.post(f"/questions/{key}/notification").json()
    return message


def press(client: Client, message: dict[str, Any], answer: str = "true") -> int:
    form = {"answer": answer, "token": message["token"]}
    return client.post(message["answer_url"], form).status_code


def test_a_browser_is_listed_without_its_keys_until_it_signs_out(world: World):
    client = world.client("responder")
    assert "This browser now gets notifications" in add(client).content.decode()
    row = PushSubscription.objects.get()
    assert (row.person, row.delay) == (world.people["responder"], 5)
    html = client.get("/notifications").content.decode()
    assert "(this browser)" in html
    for secret in ("capability-9f", row.auth_secret, row.public_key):
        assert secret not in html
    client.post("/sign-out")
    assert not PushSubscription.objects.exists()


def test_a_browser_of_another_person_is_neither_tested_nor_removed(world: World):
    add(world.client("responder"))
    key = PushSubscription.objects.get().pk
    for action in ("test", "remove"):
        response = world.client("owner").post(
            f"/notifications/browsers/{action}", {"browser": key}, follow=True
        )
        assert "No such browser." in response.content.decode()
    assert PushSubscription.objects.filter(pk=key).exists()


def test_a_person_removes_a_browser(world: World):
    client = world.client("responder")
    add(client)
    key = PushSubscription.objects.get().pk
    client.post("/notifications/browsers/remove", {"browser": key})
    assert not PushSubscription.objects.exists()


def test_a_browser_that_unsubscribed_says_so_and_is_removed(world: World):
    client = world.client("responder")
    add(client)
    row = PushSubscription.objects.get()
    push_subscriptions.forget_subscription(row)
    page = parse_page(client.get("/notifications"))
    browser = page.find_one(**{"data-browser": str(row.pk)})
    assert "this browser has unsubscribed" in browser.text
    assert "Send a test" not in browser.text
    assert "Turn on in this browser" in page.text
    response = client.post("/notifications/browsers/test", {"browser": row.pk}, follow=True)
    assert "No such browser." in response.content.decode()
    client.post("/notifications/browsers/remove", {"browser": row.pk})
    assert not PushSubscription.objects.exists()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"endpoint": ""}, "This needs JavaScript."),
        ({"endpoint": "https://127.0.0.1/x"}, "in a private network"),
        ({"auth_secret": "x"}, "an invalid key"),
        ({"browser_delay": "-1"}, "a whole number of seconds"),
    ],
    ids=["no script", "private", "key", "delay"],
)
def test_an_invalid_subscription_is_refused(world: World, changes: dict[str, str], problem: str):
    assert problem in add(world.client("responder"), **changes).content.decode()
    assert not PushSubscription.objects.exists()


def test_a_button_answers_as_the_person_and_is_on_record(world: World):
    client = world.client("responder")
    assert press(client, fetch_message(client, world.question.pk), "false") == 204
    world.question.refresh_from_db()
    assert (world.question.state, world.question.answer) == ("answered", False)
    assert world.question.decider == world.people["responder"]
    entry = JournalEntry.objects.get(kind="inquiry_response")
    (event,) = wire.read_element(entry.text).events
    assert event.note["channel"] == "notification"
    act = LedgerEntry.objects.get(act=Act.INQUIRY_ANSWERED)
    assert json.loads(act.text)["details"]["channel"] == "notification"


def test_a_button_needs_no_csrf_token_but_its_own(world: World):
    client = world.client("responder")
    message = fetch_message(client, world.question.pk)
    client.handler.enforce_csrf_checks = True
    assert press(client, message | {"token": "0" * 64}) == 403
    assert press(client, message | {"token": ""}) == 403
    assert press(client, message) == 204


def test_a_token_of_another_session_or_question_answers_nothing(world: World):
    first, second = world.client("responder"), world.client("responder")
    message = fetch_message(first, world.question.pk)
    assert press(second, message) == 403
    assert press(world.client("owner"), message) == 403
    other = making.question(world.run)
    assert (
        press(first, message | {"answer_url": f"/questions/{other.pk}/notification/answer"}) == 403
    )
    world.question.refresh_from_db()
    assert world.question.state == "open"


def test_a_button_without_a_session_leads_to_the_sign_in(world: World):
    message = fetch_message(world.client("responder"), world.question.pk)
    assert press(Client(), message) == 302


def test_a_button_of_a_person_who_lost_the_role_is_refused(world: World):
    client = world.client("responder")
    message = fetch_message(client, world.question.pk)
    world.member("responder").delete()
    assert press(client, message) == 404


def test_a_late_button_gets_a_conflict(world: World):
    client = world.client("responder")
    message = fetch_message(client, world.question.pk)
    making.settle(world.question, making.ANSWER)
    assert press(client, message) == 409


def test_an_answer_that_is_no_button_is_refused(world: World):
    client = world.client("responder")
    assert press(client, fetch_message(client, world.question.pk), "maybe") == 422


def test_a_secret_question_has_no_button(world: World):
    row = making.question(world.run, Secret(), "Password?")
    message = fetch_message(world.client("responder"), row.pk)
    assert message == {"tag": f"question-{row.pk}", "url": f"/questions/{row.pk}"}


def test_a_browser_learns_which_of_its_notifications_wait(world: World):
    settled = making.question(world.run)
    making.settle(settled, making.ANSWER)
    tags = [f"question-{world.question.pk}", f"question-{settled.pk}"]
    tags += [f"approval-{world.prompt.pk}", "question-x", "other"]
    waiting_rows = {
        name: world.client(name).get("/notifications/waiting", {"tag": tags}).json()["waiting"]
        for name in ("responder", "reader", "rival")
    }
    assert waiting_rows == {"responder": [tags[0], tags[2]], "reader": [], "rival": []}


def test_a_browser_learns_which_mentions_are_unseen(world: World):
    owner = world.people["owner"]
    threads.add_comment(
        world.conversation, world.anchor, world.people["reader"], f"@{owner.username}, look"
    )
    tag = f"mention-{Mention.objects.get().pk}"

    def waiting(name: str) -> list[str]:
        response = world.client(name).get("/notifications/waiting", {"tag": tag})
        return list(response.json()["waiting"])

    assert (waiting("owner"), waiting("reader")) == ([tag], [])
    mentions.mark_seen(owner.pk, Mention.objects.get().pk)
    assert waiting("owner") == []


def test_the_service_worker_is_served_for_every_page(db: None):
    response = Client().get("/service-worker.js")
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "no-cache" in response.headers["Cache-Control"]
    assert b'addEventListener("push"' in response.content
