from __future__ import annotations

import socket
from typing import Any

import pytest

from jpweb.runtime.notifications import allowed_destinations, apprise_sender
from jpweb.runtime.notifications.apprise_sender import InvalidAddress
from tests.runtime.notifications.receiver import NotificationReceiver

PRIVATE = [
    *(
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0",
        "::ffff:0:0",
    ),
    *("10.0.0.5", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"),
    *("::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:7f00:1"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "localhost", "LOCALHOST.", "a.localhost"),
]
PUBLIC = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "ntfy.sh", "", "x.example"]


@pytest.fixture(autouse=True)
def nothing_private(settings: Any) -> None:
    settings.NOTIFY_PRIVATE = ()


@pytest.mark.parametrize("host", PRIVATE)
def test_a_private_host_is_refused_however_it_is_written(host: str):
    assert allowed_destinations.is_refused_literal(host)


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_host_or_a_name_is_no_refused_literal(host: str):
    assert not allowed_destinations.is_refused_literal(host)


@pytest.mark.parametrize("address", ["127.0.0.0/8", "127.0.0.1", "localhost"])
def test_a_private_host_that_the_operator_names_is_taken(settings: Any, address: str):
    settings.NOTIFY_PRIVATE = ("10.9.0.0/16", address)
    assert not allowed_destinations.is_refused_literal("localhost")
    assert allowed_destinations.is_refused_literal("192.168.1.1")


@pytest.mark.parametrize(
    "url",
    [
        "ntfy://127.0.0.1/topic",
        "ntfy://2130706433/topic",
        "ntfy://[::ffff:127.0.0.1]/topic",
        "ntfy://0x7f000001/topic",
        "mailto://ada:pw@example.org?smtp=10.0.0.1",
    ],
)
def test_an_address_with_a_private_host_is_not_taken(url: str):
    with pytest.raises(InvalidAddress, match="is in a private network"):
        apprise_sender.check_address(url)


def resolved_to(*addresses: str) -> Any:
    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if options.get("flags") == socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses
        ]

    return resolve


async def test_a_name_that_resolves_to_a_private_address_is_not_reached(
    receiver: NotificationReceiver, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    """The resolver is asked once, in the call that connects; nothing was reached before."""
    settings.NOTIFY_PRIVATE = ()
    monkeypatch.setattr(allowed_destinations, "_resolve_unchecked", resolved_to("127.0.0.1"))
    url = receiver.url().replace("127.0.0.1", "ntfy.example.org")
    assert (
        await apprise_sender.send_message(1, url, "Title", "Body")
        == apprise_sender.UNDELIVERED_TEXT
    )
    assert receiver.paths == []
    settings.NOTIFY_PRIVATE = ("ntfy.example.org",)
    assert await apprise_sender.send_message(1, url, "Title", "Body") == ""
    assert len(receiver.paths) == 1


def test_refuse_private_addresses_keeps_public_ones_of_a_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        allowed_destinations, "_resolve_unchecked", resolved_to("10.0.0.1", "93.184.216.34")
    )
    with allowed_destinations.refuse_private_addresses():
        answers = socket.getaddrinfo("mixed.example", 443)
    assert [answer[4][0] for answer in answers] == ["93.184.216.34"]


def test_outside_of_the_block_every_address_is_resolved():
    with allowed_destinations.refuse_private_addresses(), pytest.raises(socket.gaierror):
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    assert socket.getaddrinfo("127.0.0.1", 9)[0][4][0] == "127.0.0.1"
