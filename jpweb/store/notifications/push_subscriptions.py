"""Browsers that get Web Push messages: each belongs to the sign-in in which it was turned on."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import db_text
from jpweb.store.choices import Act
from jpweb.store.errors import StoreError
from jpweb.store.models import Person, PushSubscription, SignIn
from jpweb.store.notifications import channel_acts
from jpweb.store.people import sessions

#: Browsers of one person at most.
MAX_SUBSCRIPTIONS = 20


class UnknownSubscription(StoreError):
    """The person has no such browser."""


class SubscriptionRefused(StoreError):
    """The browser cannot be added; says why."""


def list_live() -> QuerySet[PushSubscription]:
    """Return the subscriptions to which messages can go now.

    Their sign-in has not ended, their person is active, and their service knows them.
    """
    return _list_signed_in().exclude(endpoint="")


def list_person_browsers(person_id: int) -> list[PushSubscription]:
    """Return the browsers of a person that are signed in, also gone ones, the oldest first."""
    return list(_list_signed_in().filter(person_id=person_id).order_by("pk"))


def get_person_browser(person_id: int, subscription_id: int) -> PushSubscription:
    """Return a browser of a person that messages can go to. Raises UnknownSubscription."""
    row = list_live().filter(person_id=person_id, pk=subscription_id).first()
    if row is None:
        raise UnknownSubscription("No such browser.")
    return row


@transaction.atomic
def save_subscription(
    sign_in_key: str, endpoint: str, public_key: str, auth_secret: str, delay: int
) -> PushSubscription:
    """Save the subscription of a signed-in browser, in the row of its earlier one.

    A browser that another person used before is theirs no longer. Raises SubscriptionRefused.
    """
    sign_in = sessions.list_live_rows().filter(pk=sign_in_key, person__isnull=False).first()
    if sign_in is None or sign_in.person_id is None:
        raise SubscriptionRefused("Sign in again.")
    person = Person.objects.select_for_update().get(pk=sign_in.person_id)  # serializes the count
    endpoint_hash = hashlib.sha256(endpoint.encode()).hexdigest()
    PushSubscription.objects.filter(endpoint_hash=endpoint_hash).exclude(sign_in=sign_in).delete()
    PushSubscription.objects.filter(sign_in=sign_in).exclude(person=person).delete()
    other_subscriptions = list_live().filter(person_id=sign_in.person_id).exclude(sign_in=sign_in)
    if other_subscriptions.count() >= MAX_SUBSCRIPTIONS:
        raise SubscriptionRefused(
            f"You have {MAX_SUBSCRIPTIONS} browsers. Remove one to add another."
        )
    # The row stays, also of a gone browser: its deliveries say what the browser has had.
    row, is_new = PushSubscription.objects.update_or_create(
        sign_in=sign_in,
        person=person,
        defaults={
            "browser": _read_browser(sign_in),
            "endpoint": endpoint,
            "endpoint_hash": endpoint_hash,
            "public_key": public_key,
            "auth_secret": auth_secret,
            "delay": delay,
            "problem": "",
        },
    )
    channel_acts.record_browser_act(Act.CHANNEL_ADDED if is_new else Act.CHANNEL_CHANGED, row)
    return row


@transaction.atomic
def remove_subscription(person_id: int, subscription_id: int) -> None:
    """Delete a browser of a person. Raises UnknownSubscription."""
    rows = _list_signed_in().filter(person_id=person_id, pk=subscription_id)
    row = rows.select_related("person").first()
    if row is None:
        raise UnknownSubscription("No such browser.")
    channel_acts.record_browser_act(Act.CHANNEL_REMOVED, row)
    row.delete()


def forget_subscription(subscription: PushSubscription) -> None:
    """Empty the address and keys of a browser that its vendor's service no longer knows.

    The row stays, so that its person sees it. An address that the browser has got since stays too.
    """
    rows = PushSubscription.objects.filter(
        pk=subscription.pk, endpoint_hash=subscription.endpoint_hash
    )
    rows.update(endpoint="", public_key="", auth_secret="", problem="")


def record_problem(subscription_id: int, problem: str) -> None:
    """Record why the last message to a browser failed; empty where it did not."""
    PushSubscription.objects.filter(pk=subscription_id).update(
        problem=db_text.clean_text(problem)[:500]
    )


def _list_signed_in() -> QuerySet[PushSubscription]:
    return PushSubscription.objects.filter(
        sign_in__in=sessions.list_live_rows(), person__is_active=True
    )


def _read_browser(sign_in: SignIn) -> str:
    return db_text.clean_text(sessions.read_browser(sign_in))[:100]
