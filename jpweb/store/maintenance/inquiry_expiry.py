"""Expiry of questions: the setting of each workspace, and the expired open questions.

Nothing here settles a question: an expired one is open until its expiry is recorded.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from jpweb.store.choices import Act
from jpweb.store.inquiries import OPEN_STATE, is_run_unfinished
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Inquiry, Workspace

#: Longest expiry that a workspace can set, in seconds.
MAX_EXPIRY_SECONDS = 366 * 86_400


@transaction.atomic
def set_expiry(workspace: Workspace, seconds: int | None, actor: Actor = OPERATOR) -> None:
    """Set the seconds after which new questions of a workspace expire; None for never.

    Questions that are already open keep their expiry.
    """
    Workspace.objects.filter(pk=workspace.pk).update(expires_after=seconds)
    details = {"setting": "expires_after", "value": seconds}
    record_act(Act.SETTING_CHANGED, actor, Place(workspace.pk), **details)


def find_expired(after_id: int, limit: int) -> list[int]:
    """Return the lowest keys above this one of open questions past their expiry.

    Questions that no unfinished run holds open are left out.
    """
    expired_inquiries = Inquiry.objects.filter(
        is_run_unfinished(), pk__gt=after_id, state=OPEN_STATE, expires_at__lte=Now()
    )
    return list(expired_inquiries.order_by("pk").values_list("pk", flat=True)[:limit])
