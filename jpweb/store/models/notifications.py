"""Models of notification destinations, deliveries, and answer links."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person, Workspace
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
    """A question or approval was sent to a destination, or sending it failed."""

    destination = models.ForeignKey(
        NotificationDestination, models.CASCADE, related_name="notification_deliveries"
    )
    inquiry = models.ForeignKey(
        Inquiry, models.CASCADE, null=True, related_name="notification_deliveries"
    )
    approval = models.ForeignKey(
        Approval, models.CASCADE, null=True, related_name="notification_deliveries"
    )
    sent_at = models.DateTimeField(default=clock.now)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["destination", "inquiry"], name="one_delivery_a_question_and_destination"
            ),
            models.UniqueConstraint(
                fields=["destination", "approval"], name="one_delivery_an_approval_and_destination"
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
