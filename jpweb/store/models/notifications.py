"""Models of notification destinations, push subscriptions, deliveries, and answer links."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person, SignIn, Workspace
from jpweb.store.models.annotations import Mention
from jpweb.store.models.inquiries import Inquiry
from jpweb.store.models.runs import Approval


class NotificationDestination(models.Model):
    """A person's channel for open questions and approvals of a workspace.

    ``url`` is in the notification library's form and may hold a key: no page shows all of it.
    """

    person = models.ForeignKey(Person, models.CASCADE, related_name="notification_destinations")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="notification_destinations"
    )
    url = models.TextField()
    delay = models.PositiveIntegerField(help_text="seconds that something waits before")
    problem = models.CharField(max_length=500, blank=True, help_text="why the last one failed")
    added_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return f"destination {self.pk} of {self.person_id} in {self.workspace_id}"


class NotificationDelivery(models.Model):
    """A question, approval or mention was sent to a destination, or sending it failed."""

    destination = models.ForeignKey(
        NotificationDestination,
        models.CASCADE,
        db_index=False,
        related_name="notification_deliveries",
    )
    inquiry = models.ForeignKey(
        Inquiry, models.CASCADE, null=True, related_name="notification_deliveries"
    )
    approval = models.ForeignKey(
        Approval, models.CASCADE, null=True, related_name="notification_deliveries"
    )
    mention = models.ForeignKey(
        Mention, models.CASCADE, null=True, related_name="notification_deliveries"
    )
    return_number = models.PositiveIntegerField(
        default=0, db_default=0, help_text="n: after the n-th return of the question from a snooze"
    )
    sent_at = models.DateTimeField(default=clock.now)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["destination", "inquiry", "return_number"],
                name="one_delivery_a_return_and_destination",
            ),
            models.UniqueConstraint(
                fields=["destination", "approval"], name="one_delivery_an_approval_and_destination"
            ),
            models.UniqueConstraint(
                fields=["destination", "mention"], name="one_delivery_a_mention_and_destination"
            ),
        ]

    def __str__(self) -> str:
        return f"delivery to {self.destination_id}"


class AnswerLink(models.Model):
    """A link by which one person settles one question once, without signing in.

    Only the hash of its token is stored.
    """

    inquiry = models.ForeignKey(Inquiry, models.CASCADE, related_name="links")
    person = models.ForeignKey(Person, models.CASCADE, related_name="answer_links")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link of {self.person_id} to {self.inquiry_id}"


class PushSubscription(models.Model):
    """A browser that gets Web Push messages for its person; it ends with the browser's sign-in.

    ``endpoint`` is the address that the browser's vendor gave it: whoever knows it and the two
    keys can send to the browser, so no page shows them.
    """

    person = models.ForeignKey(Person, models.CASCADE, related_name="push_subscriptions")
    sign_in = models.OneToOneField(SignIn, models.CASCADE, related_name="push_subscription")
    browser = models.CharField(max_length=100, blank=True)
    endpoint = models.TextField()
    endpoint_hash = models.CharField(max_length=64, unique=True)
    public_key = models.CharField(max_length=100, help_text="of the browser, P-256, in base64url")
    auth_secret = models.CharField(max_length=30, help_text="16 bytes in base64url")
    delay = models.PositiveIntegerField(help_text="seconds that something waits before")
    problem = models.CharField(max_length=500, blank=True, help_text="why the last one failed")
    added_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return f"push subscription {self.pk} of {self.person_id}"

    @property
    def is_gone(self) -> bool:
        """Whether its service no longer knows the browser: the row has no address then."""
        return not self.endpoint


class PushDelivery(models.Model):
    """A question, approval or mention was sent to a browser, or sending it failed.

    It outlives the browser's subscription, which ends with a sign-in.
    """

    person = models.ForeignKey(Person, models.CASCADE, related_name="push_deliveries")
    subscription = models.ForeignKey(
        PushSubscription, models.SET_NULL, db_index=False, null=True, related_name="push_deliveries"
    )
    inquiry = models.ForeignKey(Inquiry, models.CASCADE, null=True, related_name="push_deliveries")
    approval = models.ForeignKey(
        Approval, models.CASCADE, null=True, related_name="push_deliveries"
    )
    mention = models.ForeignKey(Mention, models.CASCADE, null=True, related_name="push_deliveries")
    return_number = models.PositiveIntegerField(
        default=0, db_default=0, help_text="n: after the n-th return of the question from a snooze"
    )
    sent_at = models.DateTimeField(default=clock.now)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["subscription", "inquiry", "return_number"],
                name="one_push_a_return_and_browser",
            ),
            models.UniqueConstraint(
                fields=["subscription", "approval"], name="one_push_an_approval_and_browser"
            ),
            models.UniqueConstraint(
                fields=["subscription", "mention"], name="one_push_a_mention_and_browser"
            ),
        ]

    def __str__(self) -> str:
        return f"push to {self.person_id}"
