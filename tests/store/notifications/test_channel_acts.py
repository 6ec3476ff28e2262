"""Acts on notification channels are entries of their people, without the addresses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.store.choices import Role
from jpweb.store.models import LedgerEntry
from jpweb.store.notifications import channel_acts, destinations, push_subscriptions
from jpweb.store.notifications.destinations import DestinationRefused, UnknownDestination
from tests.runtime.notifications.push_scene import sign_in
from tests.runtime.notifications.push_service import PushService
from tests.store import making


def list_channel_acts() -> list[tuple[str, int | None, int | None, dict[str, Any]]]:
    entries = LedgerEntry.objects.filter(act__startswith="channel_").order_by("pk")
    return [
        (entry.act, entry.person_id, entry.workspace_id, json.loads(entry.text)["details"])
        for entry in entries
    ]


def test_destination_that_is_added_and_removed_is_two_entries(db: None):
    workspace = making.workspace("Garden")
    ada = making.person("ada", Role.RESPONDER, workspace)
    destination = destinations.add_destination(ada.pk, workspace.pk, "ntfy://canary", 60)
    with pytest.raises(DestinationRefused):
        destinations.add_destination(ada.pk, workspace.pk, "ntfy://canary", 60)
    destinations.remove_destination(ada.pk, destination.pk)
    with pytest.raises(UnknownDestination):
        destinations.remove_destination(ada.pk, destination.pk)
    details = {"service": "ntfy"}
    assert list_channel_acts() == [
        ("channel_added", ada.pk, workspace.pk, details),
        ("channel_removed", ada.pk, workspace.pk, details),
    ]


def test_browser_that_is_added_changed_and_removed_is_three_entries(db: None):
    ada = making.person("ada")
    key, service = sign_in(ada), PushService()
    push_subscriptions.save_subscription(key, **service.make_subscription(), delay=0)
    row = push_subscriptions.save_subscription(key, **service.make_subscription(), delay=60)
    push_subscriptions.remove_subscription(ada.pk, row.pk)
    with pytest.raises(push_subscriptions.UnknownSubscription):
        push_subscriptions.remove_subscription(ada.pk, row.pk)
    acts = list_channel_acts()
    assert [act for act, *_ in acts] == ["channel_added", "channel_changed", "channel_removed"]
    assert {(person_id, workspace_id) for _, person_id, workspace_id, _ in acts} == {(ada.pk, None)}
    assert all(details["service"] == channel_acts.WEB_PUSH for *_, details in acts)


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("ntfy://canary", "ntfy"),
        ("slack://canary/canary/canary", "slack"),
        ("mailtos://ada:canary@example.org?to=canary", "mailtos"),
        ("https://hooks.slack.example/services/canary", "hooks.slack.example"),
        ("HTTPS://ada:canary@chat.example:8080?key=canary", "chat.example:8080"),
        ("https://chat.example#canary", "chat.example"),
        ("https://", "https"),
        ("canary", ""),
    ],
)
def test_name_service_gives_scheme_or_host_alone(url: str, service: str):
    assert channel_acts.name_service(url) == service
