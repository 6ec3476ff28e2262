"""Whether changes of a workspace's files are mirrored: an owner stops that, and resumes it."""

from __future__ import annotations

from django.db import transaction

from jpweb.store.choices import Act
from jpweb.store.errors import StoreError
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import DEMO_ROOT, Workspace


@transaction.atomic
def set_following(workspace_id: int, actor: Actor, *, is_followed: bool) -> None:
    """Set whether a workspace is followed, and record it; change nothing where it already is so.

    The watcher of files heeds it within ``WORKSPACE_POLL_SECONDS``. Turns read and write the files
    of their conversation as before. Raises StoreError for the demo, whose files do not change.
    """
    workspace_row = Workspace.objects.select_for_update().get(pk=workspace_id)
    if workspace_row.root == DEMO_ROOT:
        raise StoreError("The demo is part of jpweb. Its files do not change.")
    if workspace_row.is_followed == is_followed:
        return
    workspace_row.is_followed = is_followed
    workspace_row.save(update_fields=["is_followed"])
    details = {"setting": "following", "value": "on" if is_followed else "off"}
    record_act(Act.SETTING_CHANGED, actor, Place(workspace_id), **details)
