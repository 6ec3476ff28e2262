"""Whether changes of a workspace's files are mirrored, and how far reading them is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import pass_progress
from jpweb.store.ledger.entries import Actor
from jpweb.store.workspace_config import following
from jpweb.web import access, notice_text
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request

#: Whether the workspace is followed, by the value of the form's button.
_CHOICES = {"stop": False, "resume": True}
_NOTICES = {True: notice_text.FOLLOWING_RESUMED, False: notice_text.FOLLOWING_STOPPED}


@access.workspace(Role.READER)
def show_files(request: Request, workspace: Workspace) -> HttpResponse:
    """Show the state of a workspace's files, with the progress of reading; to htmx alone."""
    if not request.htmx:
        return redirect("settings")
    roles = access.get_roles(request)
    context = {
        "workspace": workspace,
        "files": pass_progress.describe_files([workspace])[workspace.pk],
        "is_owner": roles[workspace.pk] == Role.OWNER,
        "was_reading": "was_reading" in request.GET,
        "hides_label": "hides_label" in request.GET,  # the People page says the state in words
    }
    return render(request, "settings/_files.html", context)


@require_POST
@access.workspace(Role.OWNER)
def choose_following(request: Request, workspace: Workspace) -> HttpResponse:
    """Stop or resume following the files of a workspace, as the form's button says."""
    is_followed = _CHOICES.get(request.POST.get("following", ""))
    if is_followed is None:
        messages.error(request, notice_text.OPTION_REQUIRED)
        return redirect("people", workspace_id=workspace.pk)
    actor = Actor.from_person(request.user)
    try:
        following.set_following(workspace.pk, actor, is_followed=is_followed)
        messages.success(request, _NOTICES[is_followed].format(name=workspace.name))
    except StoreError as error:
        messages.error(request, str(error))
    return redirect("people", workspace_id=workspace.pk)
