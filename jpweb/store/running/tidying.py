"""What is kept for a while only, and removed when the while is over."""

from __future__ import annotations

from datetime import timedelta

from django.core.management import call_command
from django.db.models import Q
from django.db.models.functions import Now

from jpweb.store.inquiries import OPEN
from jpweb.store.models import AnswerLink, Heartbeat, Notice, Presence, SignInLink
from jpweb.store.terms import PromptState

#: How long links are kept after they expired, and notices after they were sent, so that what
#: happened can be looked up.
LINKS_AND_NOTICES = timedelta(days=30)
PRESENCES = HEARTBEATS = timedelta(days=1)


def tidy() -> None:
    """Remove what is over: old links and notices, sessions, presences of processes that ended.

    A notice stays while what it told of waits, since it also says that this was told.
    """
    old = Now() - LINKS_AND_NOTICES
    SignInLink.objects.filter(expires_at__lt=old).delete()
    AnswerLink.objects.filter(expires_at__lt=old).delete()
    waits = Q(inquiry__state=OPEN) | Q(prompt__state=PromptState.OPEN)
    Notice.objects.filter(sent_at__lt=old).exclude(waits).delete()
    Presence.objects.filter(seen_at__lt=Now() - PRESENCES).delete()
    Heartbeat.objects.filter(seen_at__lt=Now() - HEARTBEATS).delete()
    call_command("clearsessions")
