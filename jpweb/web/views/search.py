"""Search over all conversations, with its query in the URL, and saved searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.store.search import (
    conversation_groups,
    engine,
    indexer,
    query_parser,
    saved_searches,
)
from jpweb.web import access, converters, display_text, notice_text, transcript
from jpweb.web.forms.fields import RowKeyForm, find_problem
from jpweb.web.forms.filters.search_filters import SearchFilterForm
from jpweb.web.forms.saved_searches import SavedSearchForm
from jpweb.web.http import require_POST
from jpweb.web.security import rate_limits, read_recording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jpweb.store.search.engine import Search, SearchHit
    from jpweb.store.search.query_parser import SearchQuery
    from jpweb.web.http import Request

#: Conversations that one can page through by relevance.
_MAX_OFFSET = 500


@access.signed_in
@rate_limits.limit_searches
def search_conversations(request: Request) -> HttpResponse:
    """Show the results of a query, or examples of queries."""
    form = SearchFilterForm(request.GET)
    params = form.read_params()
    query = query_parser.parse_query(params["q"], params)
    if query.has_criteria:
        read_recording.note_search(request)
    results = engine.make_search(request.user.pk, query)
    is_grouped = results.has_words and params.get("sort") != "newest"
    context = {
        "params": params,
        "form": form,
        "query": urlencode(params) if query.has_criteria else "",
        "has_criteria": query.has_criteria,
        "has_filters": any(name in params for name in query_parser.FILTER_DESCRIPTIONS),
        "problems": results.problems,
        "chips": _list_chips(query, params),
        "is_grouped": is_grouped,
        "first_query": urlencode(params),
        "unindexed_count": indexer.count_pending_for(request.user.pk),
        "saved_searches": saved_searches.list_saved(request.user.pk),
        "examples": [
            (example, meaning, urlencode({"q": example}))
            for example, meaning in display_text.QUERY_EXAMPLES
        ],
        "max_chars": query_parser.MAX_QUERY_CHARS,
    }
    build_results = _build_groups if is_grouped else _build_newest
    context |= build_results(request, results, params)
    return render(request, "search/index.html", context)


@require_POST
@access.signed_in
def save_search(request: Request) -> HttpResponse:
    """Save the page's query string under a name."""
    form = SavedSearchForm(request.POST)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return _redirect_to_search(form.query_string)
    name = form.cleaned_data["name"]
    if saved_searches.save_search(request.user.pk, name, form.query_string):
        messages.success(request, notice_text.SEARCH_SAVED.format(name=name))
    else:
        max_count = saved_searches.MAX_SAVED
        messages.error(request, notice_text.SEARCH_LIMIT_REACHED.format(max_count=max_count))
    return _redirect_to_search(form.query_string)


@require_POST
@access.signed_in
def delete_search(request: Request) -> HttpResponse:
    """Delete one of the person's saved searches."""
    key = RowKeyForm(request.POST, "search").read_key()
    if saved_searches.delete_saved(request.user.pk, key):
        messages.success(request, notice_text.SEARCH_DELETED)
    else:
        messages.info(request, notice_text.SEARCH_ALREADY_DELETED)
    return _redirect_to_search(SavedSearchForm(request.POST).query_string)


def _list_chips(query: SearchQuery, params: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each filter as it is typed, with the query string without it."""
    sort = {name: value for name, value in params.items() if name == "sort"}
    return [
        (text, urlencode({"q": query.format_without(text)} | sort)) for text in query.filter_texts
    ]


def _build_groups(request: Request, results: Search, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of the results by conversation, the most relevant first."""
    offset = min(converters.parse_number(request.GET.get("from")) or 0, _MAX_OFFSET)
    hit_groups = conversation_groups.group_hits(results, offset)
    next_offset = offset + conversation_groups.PAGE_GROUPS
    return {
        "groups": [
            {
                "group": group,
                "first": group.hits[0],
                "rows": [_make_row(hit, results.query) for hit in group.hits],
            }
            for group in hit_groups.groups
            if group.hits
        ],
        "grouped": hit_groups,
        "count_text": display_text.describe_group_count(
            hit_groups.conversation_count, hit_groups.event_count, is_limited=hit_groups.is_limited
        ),
        "facets": _list_facets(hit_groups.event_counts, results.query, params),
        "has_previous": offset > 0,
        "next_query": (
            urlencode({**params, "from": next_offset})
            if next_offset < min(hit_groups.conversation_count, _MAX_OFFSET)
            else ""
        ),
    }


def _list_facets(
    event_counts: Mapping[str, int], query: SearchQuery, params: Mapping[str, str]
) -> list[tuple[str, int, str]]:
    """Return the kinds of events found: label, number, and the query string of that kind alone."""
    if any(query_filter.name == "kind" for query_filter in query.filters):
        return []
    counts = {
        kind: sum(event_counts.get(category, 0) for category in categories)
        for kind, categories in query_parser.CATEGORIES_BY_KIND.items()
    }
    return [
        (display_text.SEARCH_KIND_LABELS[kind], count, urlencode({**params, "kind": kind}))
        for kind, count in counts.items()
        if count
    ]


def _build_newest(request: Request, results: Search, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of a page of events, the newest first."""
    before_id = converters.parse_key(request.GET.get("below"))
    hits = results.list_newest(before_id)
    is_complete = not before_id and not hits.before
    total = len(hits.rows) if is_complete else results.count_hits()
    return {
        "rows": [_make_row(hit, results.query) for hit in hits.rows],
        "count_text": display_text.describe_result_count(total, engine.COUNT_LIMIT),
        "has_previous": bool(before_id),
        "next_query": urlencode({**params, "below": hits.before}) if hits.before else "",
    }


def _make_row(hit: SearchHit, query: SearchQuery) -> Mapping[str, Any]:
    """Return a hit with the link to its event, where the words that occur in it are highlighted."""
    query_words = query.find_words(piece.text for piece in hit.snippet if piece.highlighted)
    link = transcript.make_event_url(hit.conversation_id, hit.anchor, q=query_words)
    return {"hit": hit, "link": link}


def _redirect_to_search(query: str) -> HttpResponse:
    response = redirect("search")
    response["Location"] += f"?{query}" if query else ""
    return response
