"""The start page: what needs the person who looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.store.listing import agenda
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.signed_in
def index(request: Request) -> HttpResponse:
    """Show what waits, what runs, what changed, and what is pinned."""
    context = {"agenda": agenda.agenda(request.user.pk)}
    return render(request, "start/index.html", context)
