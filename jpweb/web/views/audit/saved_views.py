"""Audit: saved views of the tables, a query string each under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jpweb.store.choices import Role, SavedPage
from jpweb.store.search import saved_searches
from jpweb.web import access, converters, notice_text
from jpweb.web.forms.filters.decision_filters import DecisionFilterForm
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: The parameters of each table's address, but for the place in it.
_PARAMS_BY_PAGE = {
    SavedPage.AUDIT: frozenset({*InquiryFilterForm.base_fields, "sort"}),
    SavedPage.DECISIONS: frozenset(DecisionFilterForm.base_fields),
}


@require_POST
@access.any_workspace(Role.AUDITOR)
def save_view(request: Request) -> HttpResponse:
    """Save the query string of a table under a name."""
    page, query = _read_page(request), _read_query(request)
    name = request.POST.get("name", "").strip()
    if not name:
        messages.error(request, notice_text.VIEW_NAME_REQUIRED)
    elif not query or len(query) > saved_searches.MAX_QUERY_CHARS:
        messages.error(request, notice_text.VIEW_NOT_SAVABLE)
    elif not saved_searches.save_search(request.user.pk, name, query, page):
        max_count = saved_searches.MAX_SAVED
        messages.error(request, notice_text.VIEW_LIMIT_REACHED.format(max_count=max_count))
    else:
        saved_name = name[: saved_searches.MAX_NAME_CHARS]
        messages.success(request, notice_text.VIEW_SAVED.format(name=saved_name))
    return _redirect_to_table(page, query)


@require_POST
@access.any_workspace(Role.AUDITOR)
def delete_view(request: Request) -> HttpResponse:
    """Delete one of the person's saved views."""
    key = converters.parse_key(request.POST.get("view"))
    if saved_searches.delete_saved(request.user.pk, key):
        messages.success(request, notice_text.VIEW_DELETED)
    else:
        messages.info(request, notice_text.VIEW_ALREADY_DELETED)
    return _redirect_to_table(_read_page(request), _read_query(request))


def _read_page(request: Request) -> SavedPage:
    """Return the table that a form names; that of questions for an unknown one."""
    is_decisions = request.POST.get("page") == SavedPage.DECISIONS
    return SavedPage.DECISIONS if is_decisions else SavedPage.AUDIT


def _read_query(request: Request) -> str:
    """Return the query string that a form carries, with the table's own parameters only."""
    text = request.POST.get("query", "")[: 2 * saved_searches.MAX_QUERY_CHARS]
    names = _PARAMS_BY_PAGE[_read_page(request)]
    params = QueryDict(text).dict()
    return urlencode({name: value for name, value in params.items() if value and name in names})


def _redirect_to_table(page: SavedPage, query: str) -> HttpResponse:
    response = redirect(page.value)
    response["Location"] += f"?{query}" if query else ""
    return response
