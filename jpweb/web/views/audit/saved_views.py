"""Audit: saved views of the tables, a query string each under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from jpweb.store.choices import Role
from jpweb.store.search import saved_searches
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import RowKeyForm, find_problem
from jpweb.web.forms.saved_searches import SavedViewForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.web.http import Request


@require_POST
@access.any_workspace(Role.AUDITOR)
def save_view(request: Request) -> HttpResponse:
    """Save the query string of a table under a name."""
    form = SavedViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return _redirect_to_table(form)
    name = form.cleaned_data["name"]
    if saved_searches.save_search(request.user.pk, name, form.query_string, form.saved_page):
        messages.success(request, notice_text.VIEW_SAVED.format(name=name))
    else:
        max_count = saved_searches.MAX_SAVED
        messages.error(request, notice_text.VIEW_LIMIT_REACHED.format(max_count=max_count))
    return _redirect_to_table(form)


@require_POST
@access.any_workspace(Role.AUDITOR)
def delete_view(request: Request) -> HttpResponse:
    """Delete one of the person's saved views."""
    key = RowKeyForm(request.POST, "view").read_key()
    if saved_searches.delete_saved(request.user.pk, key):
        messages.success(request, notice_text.VIEW_DELETED)
    else:
        messages.info(request, notice_text.VIEW_ALREADY_DELETED)
    return _redirect_to_table(SavedViewForm(request.POST))


def _redirect_to_table(form: SavedViewForm) -> HttpResponse:
    response = redirect(form.saved_page.value)
    response["Location"] += f"?{form.query_string}" if form.query_string else ""
    return response
