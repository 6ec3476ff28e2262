"""Confirmation of a workspace's user-local copies, by an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import silo_bindings
from jpweb.web import access, notice_text
from jpweb.web.http import require_POST
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@require_POST
@access.workspace(Role.OWNER)
def confirm_copies(request: Request, workspace: Workspace) -> HttpResponse:
    """Bind the user-local copies of the id that the form showed."""
    jp_id = request.POST.get("jp_id", "")
    try:
        silo_bindings.confirm_silo(workspace, request.user, jp_id)
        security_log.log_event("copies confirmed", request, workspace=workspace.pk, jp_id=jp_id)
        messages.success(request, notice_text.COPIES_CONFIRMED)
    except StoreError as error:
        messages.error(request, str(error))
    return redirect("people", workspace_id=workspace.pk)
