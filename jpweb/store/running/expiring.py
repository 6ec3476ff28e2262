"""How long questions wait, and which have waited for too long by the database's clock.

Nothing here decides anything: a question that is due is still open until somebody settles it.
"""

from __future__ import annotations

from django.db.models.functions import Now

from jpweb.store.inquiries import OPEN, goes_on
from jpweb.store.models import Inquiry, Workspace

#: The longest time that a workspace can let its questions wait before they expire.
LONGEST = 366 * 86_400


def choose(home: Workspace, seconds: int | None) -> None:
    """Decide after how long the questions asked from now on expire; None for never.

    Those that wait already are left alone.
    """
    Workspace.objects.filter(pk=home.pk).update(expires_after=seconds)


def due(above: int, limit: int) -> list[int]:
    """Return the lowest keys above this one of questions whose time is over.

    Questions that no unfinished run holds open are none of them.
    """
    found = Inquiry.objects.filter(goes_on(), pk__gt=above, state=OPEN, expires_at__lte=Now())
    return list(found.order_by("pk").values_list("pk", flat=True)[:limit])
