"""Acts on notification channels, in the ledger: of each its service, never its address.

A channel for questions receives answer links, so whoever adds one decides where these go.
"""

from __future__ import annotations

import re

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import SYSTEM, Actor, Place, record_act
from jpweb.store.models import NotificationDestination, PushSubscription

#: The service of a browser, beside those of addresses, which are their schemes or hosts.
WEB_PUSH = "web_push"
#: Characters of a service; no scheme is longer, and hardly any host.
_MAX_SERVICE_CHARS = 100
_WEB_SCHEMES = ("http", "https")


def record_destination_act(act: Act, destination: NotificationDestination) -> None:
    """Record that a destination's person added or removed it, in its workspace."""
    place = Place(destination.workspace_id, subject=f"channel:{destination.pk}")
    service = name_service(destination.url)
    record_act(act, Actor.from_person(destination.person), place, service=service)


def record_browser_act(act: Act, subscription: PushSubscription) -> None:
    """Record that a browser's person added, changed or removed it."""
    place = Place(subject=f"browser:{subscription.pk}")
    actor = Actor.from_person(subscription.person)
    record_act(act, actor, place, service=WEB_PUSH, browser=subscription.browser)


def record_answer_link(place: Place, person: tuple[int, str], channel: tuple[int, str]) -> None:
    """Record that jpweb issued an answer link of a question.

    ``person`` is the key and the name of who can answer by it, ``channel`` the key and the URL of
    the destination that receives it.
    """
    person_id, name = person
    destination_id, url = channel
    details = {"person": name, "person_id": person_id, "destination": destination_id}
    record_act(Act.ANSWER_LINK_ISSUED, SYSTEM, place, service=name_service(url), **details)


def name_service(url: str) -> str:
    """Return the service of an address: its scheme, of a web address its host.

    What follows other schemes may be a key: a topic of ntfy, a token of Slack.
    """
    scheme, separator, location = url.partition("://")
    if not separator:
        return ""
    host = re.split(r"[/?#\\]", location, maxsplit=1)[0].rpartition("@")[2]
    is_web = scheme.lower() in _WEB_SCHEMES
    return (host if is_web and host else scheme)[:_MAX_SERVICE_CHARS]
