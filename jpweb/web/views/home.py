"""Start page: pending questions, running turns, changes and pins of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.store.conversation_list import dashboard
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.signed_in
def show_dashboard(request: Request) -> HttpResponse:
    """Show pending questions, running turns, recent changes and pinned conversations."""
    context = {"dashboard": dashboard.get_dashboard(request.user.pk)}
    return render(request, "home/index.html", context)
