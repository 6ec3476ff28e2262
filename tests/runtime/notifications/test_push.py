"""Web Push: what a push service is sent, what a browser reads of it, and who gets it."""

from __future__ import annotations

import socket
from base64 import urlsafe_b64decode
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.utils import timezone

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.notifications import allowed_destinations, push_messages, push_sender
from jpweb.runtime.periodic import send_notifications
from jpweb.store import accounts
from jpweb.store.choices import ApprovalKind, Role
from jpweb.store.inbox import snoozes
from jpweb.store.models import (
    AnswerLink,
    Approval,
    Inquiry,
    Membership,
    Person,
    PushDelivery,
    PushSubscription,
    QuestionSnooze,
    Run,
    SignIn,
)
from jpweb.store.notifications import answer_buttons, push_subscriptions
from jpweb.store.people import sessions
from jpweb.stream.answer_type import Option, Secret, Select, Text
from tests.runtime.notifications.push_scene import PushScene, change_rights, send, sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making

CANARY = "canary-5e1b"


async def ask(run: Run, *args: Any) -> Inquiry:
    """Ask a question, which has waited for a minute."""
    row: Inquiry = await run_in_db_thread(making.question, run, *args)
    at = timezone.now() - timedelta(minutes=1)
    await run_in_db_thread(Inquiry.objects.filter(pk=row.pk).update, asked_at=at)
    return row


async def rows(model: Any) -> list[Any]:
    return await run_in_db_thread(lambda: list(model.objects.order_by("pk")))


async def list_messages() -> list[PushDelivery]:
    messages = PushDelivery.objects.select_related("person").order_by("pk")
    return await run_in_db_thread(lambda: list(messages))


async def test_a_browser_alone_reads_the_question_and_its_buttons(
    stage: PushScene, service: PushService
):
    row = await ask(stage.run, None, "Delete the “roses”?\nAll of them.")
    await send(1)
    assert service.read_messages == [
        {
            "title": "fs_modify_file asks in Garden",
            "body": "Delete the “roses”?",
            "tag": f"question-{row.pk}",
            "url": f"/questions/{row.pk}",
            "answer_url": f"/questions/{row.pk}/notification/answer",
            "token": answer_buttons.make_token(row.pk, stage.key),
            "buttons": [{"title": "Yes", "value": "true"}, {"title": "No", "value": "false"}],
        }
    ]
    assert b"roses" not in service.messages[0].body
    assert await rows(AnswerLink) == []
    await send(0)


async def test_push_messages_have_equal_lengths(stage: PushScene, service: PushService):
    await ask(stage.run, None, "Go?")
    await ask(stage.run, Text(), "Which of them, and why? " * 40)
    await send(2)
    assert len({len(message.body) for message in service.messages}) == 1
    assert len(service.messages[0].body) <= 4096
    for message in service.messages:
        assert message.path == "/push/a-browser"
        assert message.headers["content-encoding"] == "aes128gcm"
        assert int(message.headers["ttl"]) == push_sender.KEPT_SECONDS
        assert not {"cookie", "referer", "topic"} & message.headers.keys()


async def test_the_signature_names_service_and_site_and_is_of_our_key(
    stage: PushScene, service: PushService
):
    await ask(stage.run)
    await send(1)
    scheme, _, fields = service.messages[0].headers["authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in fields.split(","))
    assert (scheme, parts["k"]) == ("vapid", push_sender.get_public_key())
    point = urlsafe_b64decode(parts["k"] + "=")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    claims = jwt.decode(parts["t"], key, algorithms=["ES256"], audience=service.origin)
    assert claims["sub"] == "https://jp.example.org"
    assert 0 < claims["exp"] - timezone.now().timestamp() < 24 * 3600


@pytest.mark.parametrize(
    ("public_url", "contact"),
    [
        ("http://127.0.0.1:8000", push_sender.PROJECT_URL),
        ("http://jp.example.org", push_sender.PROJECT_URL),
        ("https://intranet", push_sender.PROJECT_URL),
        ("https://jp.local", push_sender.PROJECT_URL),
        ("https://jp.localhost", push_sender.PROJECT_URL),
        ("https://10.0.0.7:8443", push_sender.PROJECT_URL),
        ("https://[::ffff:10.0.0.7]", push_sender.PROJECT_URL),
        ("https://jp.example.org:8443/x", "https://jp.example.org"),
    ],
)
def test_the_signature_names_an_address_that_services_accept(
    settings: Any, public_url: str, contact: str
):
    """Apple refuses a message whose contact has no public host name (403 BadJwtToken)."""
    settings.PUBLIC_URL = public_url
    header = push_sender._make_headers("https://web.push.apple.com/x")["Authorization"]
    token = header.partition("t=")[2].partition(",")[0]
    subject = jwt.decode(token, options={"verify_signature": False})["sub"]
    host = urlsplit(subject).hostname or ""
    assert subject == contact
    assert "." in host
    assert not {"localhost", "1", "7"} & set(host.split("."))


def test_servers_with_one_secret_key_have_one_vapid_key(settings: Any):
    keys = []
    for secret_key in ("one", "one", "another"):
        settings.SECRET_KEY = secret_key
        push_sender._derive_key.cache_clear()
        keys.append(push_sender.get_public_key())
    push_sender._derive_key.cache_clear()
    assert keys[0] == keys[1] != keys[2]


async def test_a_question_that_came_back_from_a_snooze_is_sent_once_more(
    stage: PushScene, service: PushService
):
    row = await ask(stage.run)
    await send(1)
    recorded = await rows(PushDelivery)

    def snooze() -> None:
        now = timezone.now()
        snoozes.snooze_question(row, stage.ada.pk, now + timedelta(hours=1))
        PushDelivery.objects.update(sent_at=now - timedelta(minutes=1))
        QuestionSnooze.objects.update(until=now - timedelta(seconds=1))

    await run_in_db_thread(snooze)
    service.status = 500
    await send(0)
    service.status = 201
    await send(0)
    assert len(service.messages) == 2
    first_message, second_message = (service.decrypt(message) for message in service.messages)
    assert second_message == first_message | {"returned": True}
    first, second = sorted(await rows(PushDelivery), key=lambda row: row.pk)
    assert (first.pk, first.problem) == (recorded[0].pk, "")
    assert (second.return_number, second.problem) == (1, push_sender.UNDELIVERED_TEXT)


async def test_push_message_of_a_secret_question_omits_its_text(
    stage: PushScene, service: PushService
):
    row = await ask(stage.run, Secret(), f"Password of {CANARY}?")
    await send(1)
    (message,) = service.read_messages
    assert message["body"] == "A secret is requested."
    assert message.keys() == {"title", "body", "tag", "url"}
    assert message["url"] == f"/questions/{row.pk}"
    assert CANARY not in str(message)


async def test_an_approval_has_no_buttons_and_shows_no_argument(
    stage: PushScene, service: PushService
):
    fields = {"content": CANARY, "arguments": {"path": CANARY}, "described": CANARY}
    for kind in ApprovalKind:
        approval = await run_in_db_thread(making.prompt, stage.run, kind, **fields)
        at = timezone.now() - timedelta(minutes=1)
        await run_in_db_thread(Approval.objects.filter(pk=approval.pk).update, asked_at=at)
    await send(2)
    for message in service.read_messages:
        assert message.keys() == {"title", "body", "tag", "url"}
        assert message["url"].startswith("/prompts/")
        assert CANARY not in str(message)


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (["main", "next"], ["main", "next"]),
        (["a", "b", "c", "d"], []),
        (["main", "x" * 25], []),
        (["main", "a\nb"], []),
        ([True, "true"], []),
    ],
    ids=["short", "many", "long", "with a line break", "alike"],
)
async def test_short_options_that_are_few_have_buttons(
    stage: PushScene, service: PushService, options: list[Any], labels: list[str]
):
    await ask(stage.run, Select(tuple(Option(option) for option in options)))
    await send(1)
    (message,) = service.read_messages
    assert [button["title"] for button in message.get("buttons", [])] == labels


@pytest.mark.parametrize("change", ["reader", "outsider", "inactive", "settled", "signed out"])
@pytest.mark.parametrize("is_claimed", [False, True], ids=["before", "between list and claim"])
async def test_push_messages_go_only_to_people_who_may_answer_now(
    stage: PushScene,
    service: PushService,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    is_claimed: bool,
):
    row = await ask(stage.run)
    changes: dict[str, Callable[[], Any]] = {
        "reader": lambda: Membership.objects.update(role=Role.READER),
        "outsider": lambda: Membership.objects.all().delete(),
        "inactive": lambda: Person.objects.update(is_active=False),
        "settled": lambda: making.settle(row, making.ANSWER),
        "signed out": lambda: accounts.end_sign_ins(stage.ada.pk),
    }
    await change_rights(changes[change], monkeypatch, is_claimed=is_claimed)
    await send(0)
    assert service.messages == []


async def test_an_expired_sign_in_gets_nothing(stage: PushScene, service: PushService):
    await ask(stage.run)
    await run_in_db_thread(SignIn.objects.update, seen_at=timezone.now() - timedelta(days=400))
    await send(0)
    assert service.messages == []


async def test_ending_a_sign_in_removes_its_browser_alone(stage: PushScene, service: PushService):
    other_key = await run_in_db_thread(sign_in, stage.ada)
    other = await run_in_db_thread(
        lambda: push_subscriptions.save_subscription(
            other_key, **service.make_subscription("/push/other"), delay=0
        )
    )
    await run_in_db_thread(sessions.end_one, stage.ada.pk, stage.key)
    assert await rows(PushSubscription) == [other]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_its_service_forgot_is_listed_without_its_address(
    stage: PushScene, service: PushService, status: int
):
    await ask(stage.run)
    await ask(stage.run)
    service.status = status
    await send(0)
    assert len(service.messages) == 1
    (browser,) = await run_in_db_thread(push_subscriptions.list_person_browsers, stage.ada.pk)
    assert browser.is_gone
    assert (browser.endpoint, browser.public_key, browser.auth_secret) == ("", "", "")
    service.status = 201
    await send(0)
    with pytest.raises(push_subscriptions.UnknownSubscription):
        await run_in_db_thread(push_subscriptions.get_person_browser, stage.ada.pk, browser.pk)
    await run_in_db_thread(
        lambda: push_subscriptions.save_subscription(
            stage.key, **service.make_subscription("/push/new"), delay=0
        )
    )
    await send(2)
    (browser,) = await rows(PushSubscription)
    assert not browser.is_gone
    await send(0)
    deliveries = [(row.person, row.problem) for row in await list_messages()]
    assert deliveries == [(stage.ada, problem) for problem in (push_sender.GONE_TEXT, "", "")]


@pytest.mark.parametrize("status", [307, 400, 403, 429, 500])
async def test_refused_push_message_is_recorded_and_not_repeated(
    stage: PushScene, service: PushService, status: int
):
    await ask(stage.run)
    service.status = status
    await send(0)
    await send(0)
    assert len(service.messages) == 1
    assert [row.problem for row in await rows(PushSubscription)] == [push_sender.UNDELIVERED_TEXT]
    assert [row.problem for row in await rows(PushDelivery)] == [push_sender.UNDELIVERED_TEXT]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "push.example.org"])
async def test_an_endpoint_in_a_private_network_is_not_reached(
    stage: PushScene,
    service: PushService,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
):
    settings.NOTIFY_PRIVATE = ()
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", service.port))]

    def resolve(host: str, *args: Any, **options: Any) -> Any:
        if options.get("flags") == socket.AI_NUMERICHOST and not host.startswith("127."):
            raise OSError("a name")
        return answer

    monkeypatch.setattr(allowed_destinations, "_resolve_unchecked", resolve)
    endpoint = f"https://{name}:{service.port}/push/x"
    await run_in_db_thread(PushSubscription.objects.update, endpoint=endpoint)
    await ask(stage.run)
    await send(0)
    assert service.messages == []


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://push.example.org/x"},
        {"endpoint": "https://"},
        {"endpoint": "https://user@push.example.org/x"},
        {"endpoint": "https://push.example.org:99999/x"},
        {"endpoint": "https://push.example.org/\N{SNOWMAN}"},
        {"endpoint": "https://push.example.org/" + "x" * 2000},
        {"endpoint": "https://10.0.0.1/x"},
        {"endpoint": "https://[::1]/x"},
        {"endpoint": "https://2130706433/x"},
        {"public_key": "AAAA"},
        {"public_key": "B" + "A" * 86},
        {"public_key": "\N{SNOWMAN}"},
        {"auth_secret": "AAAA"},
    ],
    ids=str,
)
def test_a_hostile_subscription_is_refused(change: dict[str, str]):
    subscription = PushService().make_subscription() | {"endpoint": "https://push.example.org/x"}
    push_sender.check_subscription(**subscription)
    with pytest.raises(push_sender.InvalidSubscription):
        push_sender.check_subscription(**subscription | change)


async def test_a_test_message_is_shown_as_one(stage: PushScene, service: PushService):
    assert await send_notifications.send_push_test(stage.browser) == ""
    assert service.read_messages == [push_messages.build_test()]
    service.status = 410
    assert await send_notifications.send_push_test(stage.browser) == push_sender.GONE_TEXT
    assert [row.is_gone for row in await rows(PushSubscription)] == [True]


async def test_send_push_logs_no_subscription_key(
    stage: PushScene, service: PushService, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(0)
    await ask(stage.run, None, CANARY)
    await send(1)
    for text in ("a-browser", CANARY, service.make_subscription()["auth_secret"]):
        assert text not in caplog.text


async def test_a_changed_delay_sends_nothing_again(stage: PushScene, service: PushService):
    await ask(stage.run)
    await send(1)
    changed = service.make_subscription("/push/a-new-address")
    await run_in_db_thread(
        lambda: push_subscriptions.save_subscription(stage.key, **changed, delay=5)
    )
    await send(0)
    (browser,) = await rows(PushSubscription)
    assert (browser.pk, browser.delay, browser.endpoint) == (
        stage.browser.pk,
        5,
        changed["endpoint"],
    )
    await ask(stage.run)
    await send(1)
    assert service.messages[-1].path == "/push/a-new-address"
