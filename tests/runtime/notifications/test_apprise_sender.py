from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jpweb.runtime.notifications import apprise_sender, sending_threads
from jpweb.runtime.notifications.apprise_sender import InvalidAddress
from tests.runtime.notifications.receiver import Manner, NotificationReceiver

KEY = "tk_c4n4ryc4n4ryc4n4ry"


@pytest.mark.parametrize(
    "url",
    [
        "ntfy://topic",
        "NTFY://topic",
        "mailtos://ada:password@example.org?to=ada@example.org",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "  ntfy://topic  ",
    ],
)
def test_an_address_of_an_allowed_service_is_taken(url: str):
    apprise_sender.check_address(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "Enter a URL"),
        ("topic", "must start with a service, such as ntfy://"),
        ("://topic", "must start with a service"),
        ("ntfy://", "The URL ends after ntfy://"),
        ("ntfy:///", "The URL ends after"),
        ("ntfy://a, ntfy://b", "can't contain spaces"),
        ("ntfy://a\0b", "can't contain spaces"),
        ("ntfy://" + "a" * 2_000, "at most 2000 characters"),
        ("ntfy://host/" + "/".join(f"t{n}" for n in range(11)), "recipients: 11. The limit is 10"),
        ("ntfy://host:99999/topic", "Invalid port: 99999"),
        ("slack://", "The URL ends after"),
        ("slack://x", "An invalid Slack"),
        ("slack://x", "Format of Slack: slack://{token_a}/{token_b}/{token_c} or"),
        ("tgram://x", "The URL is incomplete. Format of Telegram: tgram://{bot_token}"),
        ("mailto://nobody", "Invalid ~From~ email"),
    ],
)
def test_check_address_names_the_problem(url: str, message: str):
    with pytest.raises(InvalidAddress) as error:
        apprise_sender.check_address(url)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "schema",
    ["json", "jsons", "xml", "form", "file", "dbus", "syslog", "windows", "macosx", "apprise", "x"],
)
def test_a_service_that_is_not_allowed_is_refused_and_those_that_are_named(schema: str):
    with pytest.raises(InvalidAddress, match=f"“{schema}” is not supported here. .*mailto.* ntfy"):
        apprise_sender.check_address(f"{schema}://127.0.0.1/x")


def test_check_address_allows_only_notify_schemas(settings: Any):
    settings.NOTIFY_SCHEMAS = ("json",)
    apprise_sender.check_address("json://example.org/x")
    with pytest.raises(InvalidAddress, match="Use one of: json"):
        apprise_sender.check_address("ntfy://topic")


@pytest.mark.parametrize(
    "url",
    [
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV?template=/etc/passwd",
        "workflows://host/workflow/signature?Template=http://10.0.0.1/",
        "mailtos://ada:pw@example.org?pgp=yes&pgppub=/etc/passwd",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ?template=file:///etc/passwd",
    ],
)
def test_an_address_that_would_read_a_file_is_refused(url: str):
    with pytest.raises(InvalidAddress, match="can't set “"):
        apprise_sender.check_address(url)


def test_apprise_address_cannot_set_timeouts_and_redirects():
    plugin = apprise_sender._parse_address(
        "ntfy://host/t?rto=900&cto=900&retry=5&wait=60&redirect=yes&optional=yes"
    )
    assert (plugin.socket_read_timeout, plugin.socket_connect_timeout) == (
        apprise_sender.SOCKET_TIMEOUT_SECONDS,
    ) * 2
    assert (plugin.retry, plugin.redirects, plugin.optional) == (0, False, False)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ntfy://topic?priority=high", "ntfys://topic"),
        (f"ntfys://{KEY}@ntfy.example.org/topic", "ntfys://t...y@ntfy.example.org/topic"),
        (
            "mailtos://ada:pa55word@example.org?to=eve@example.net",
            "mailtos://ada:****@example.org/",
        ),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", "slack://T...2/A...D/T...Q/"),
        (f"json://host/{KEY}", "json://…"),
    ],
)
def test_redact_address_hides_keys(url: str, expected: str):
    assert apprise_sender.redact_address(url).startswith(expected)
    assert "?" not in apprise_sender.redact_address(url)
    assert not any(
        key in apprise_sender.redact_address(url) for key in (KEY, "pa55word", "TIiajkdnlazk")
    )


def test_is_usable_refuses_a_service_no_longer_allowed(settings: Any):
    assert apprise_sender.is_usable("ntfy://topic")
    settings.NOTIFY_SCHEMAS = ("slack",)
    assert not apprise_sender.is_usable("ntfy://topic")


def test_an_allowed_word_that_is_no_service_is_refused_as_an_address(settings: Any):
    settings.NOTIFY_SCHEMAS = ("slak", "slack")
    with pytest.raises(apprise_sender.InvalidAddress, match=r"“slak” .* one of: slack[.]"):
        apprise_sender.check_address("slak://token/channel")


async def test_a_message_arrives_as_plain_text(receiver: NotificationReceiver):
    assert (
        await apprise_sender.send_message(1, receiver.url("a-topic"), "Title <b>", "Body *x* & <i>")
        == ""
    )
    assert '"topic": "a-topic"' in receiver.all
    assert '"title": "Title <b>"' in receiver.all
    assert '"message": "Body *x* & <i>"' in receiver.all
    assert "apprise" not in receiver.all.lower()


async def test_send_message_reports_a_refusal_without_the_address(
    receiver: NotificationReceiver,
):
    receiver.manner = "fails"
    problem = await apprise_sender.send_message(
        1, receiver.url("a-topic", f"{KEY}@"), "Title", "Body"
    )
    assert problem == apprise_sender.UNDELIVERED_TEXT
    assert "500" not in problem


async def test_send_message_reports_an_unreachable_service(receiver: NotificationReceiver):
    receiver.manner = "hangs"
    url = receiver.url().replace(str(receiver.port), "1")
    problem = await apprise_sender.send_message(1, url, "Title", "Body")
    assert problem == apprise_sender.UNDELIVERED_TEXT


async def test_a_message_is_not_sent_on_to_where_a_service_sends_it(receiver: NotificationReceiver):
    receiver.manner = "sends away"
    assert (
        await apprise_sender.send_message(1, receiver.url(), "Title", "Body")
        == apprise_sender.UNDELIVERED_TEXT
    )
    assert len(receiver.paths) == 1


async def test_a_service_that_hangs_is_left_and_not_sent_to_meanwhile(
    receiver: NotificationReceiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sending_threads, "SEND_TIMEOUT_SECONDS", 0.2)
    receiver.manner = "hangs"
    assert await apprise_sender.send_message(7, receiver.url(), "Title", "Body") == (
        "No response within 0.2 seconds."
    )
    assert sending_threads.is_busy(("destination", 7)), (
        "the service has not answered, and nobody waits for it"
    )
    receiver.let_go.set()
    async with asyncio.timeout(10):
        while sending_threads.is_busy(("destination", 7)):  # noqa: ASYNC110  a thread tells nobody that it ends
            await asyncio.sleep(0.01)


async def test_send_message_reports_an_address_no_longer_usable(settings: Any):
    settings.NOTIFY_SCHEMAS = ("slack",)
    assert "can no longer be used" in await apprise_sender.send_message(
        1, "ntfy://topic", "Title", "Body"
    )


@pytest.mark.parametrize("manner", ["takes", "fails"])
async def test_send_message_logs_no_key_at_any_level(
    receiver: NotificationReceiver, manner: Manner, caplog: pytest.LogCaptureFixture, capfd: Any
):
    caplog.set_level(1)
    receiver.manner = manner
    await apprise_sender.send_message(1, receiver.url("a-topic", f"{KEY}@"), "Title", f"Body {KEY}")
    with pytest.raises(InvalidAddress):
        apprise_sender.check_address(f"slack://{KEY}")
    logging.getLogger("jpweb").debug("this is logged")
    assert "this is logged" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())
