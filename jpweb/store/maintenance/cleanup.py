"""Cleanup: deletes rows after their retention time."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.core.management import call_command
from django.db.models import Q
from django.db.models.functions import Now

from jpweb.store.choices import ApprovalState
from jpweb.store.database import clock
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.ledger import retention
from jpweb.store.ledger.entries import SYSTEM
from jpweb.store.models import (
    AnswerLink,
    Heartbeat,
    NotificationDelivery,
    Presence,
    SignInLink,
    TaskLease,
)

#: Retention of links after their expiry, and of notifications after they were sent, for looking up
#: what happened.
LINK_AND_NOTIFICATION_RETENTION = timedelta(days=30)
PRESENCE_RETENTION = HEARTBEAT_RETENTION = LEASE_RETENTION = timedelta(days=1)


def delete_old_rows() -> None:
    """Delete old links, notifications and sessions, and rows of ended processes.

    A delivery stays while its question or approval is open or its mention unseen, since its row
    also prevents a second notification.
    """
    cutoff = Now() - LINK_AND_NOTIFICATION_RETENTION
    SignInLink.objects.filter(expires_at__lt=cutoff).delete()
    AnswerLink.objects.filter(expires_at__lt=cutoff).delete()
    is_unseen = Q(mention__isnull=False, mention__seen_at=None)
    is_pending = Q(inquiry__state=OPEN_STATE) | Q(approval__state=ApprovalState.OPEN) | is_unseen
    NotificationDelivery.objects.filter(sent_at__lt=cutoff).exclude(is_pending).delete()
    Presence.objects.filter(seen_at__lt=Now() - PRESENCE_RETENTION).delete()
    Heartbeat.objects.filter(seen_at__lt=Now() - HEARTBEAT_RETENTION).delete()
    TaskLease.objects.filter(lease_until__lt=Now() - LEASE_RETENTION).delete()
    if settings.LEDGER_READ_DAYS:
        retention.purge_all(clock.now() - timedelta(days=settings.LEDGER_READ_DAYS), SYSTEM)
    call_command("clearsessions")
