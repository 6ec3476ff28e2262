"""Search over all conversations: what was typed and chosen, in the address; saved searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from jpweb.store.finding import index as indexed
from jpweb.store.finding import language, saved
from jpweb.store.finding import search as searching
from jpweb.store.inquiries import STATES
from jpweb.stream.inquiry import CancellationReason
from jpweb.web import access, numbers, words
from jpweb.web.security import limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jpweb.store.finding.search import Hit, Hits, Search
    from jpweb.web.http import Request

#: Searches that show what can be typed.
EXAMPLES = (
    ("watering plan", "both words, anywhere in one event"),
    ('"one o\'clock"', "the exact phrase"),
    ("config*", "words that start with config"),
    ("patch -reasoning", "with patch, without reasoning"),
    ("kind:question outcome:cancelled reason:user", "questions that a person declined"),
    ("tool:fs kind:failure", "failed calls of tools whose names start with fs"),
    ("in:demo who:ada after:2026-01 before:2026-05", "by workspace, person and date"),
)
SORTS = {"newest": "Newest first", "best": "Best match first"}


@access.signed_in
@limits.limit_searches
def index(request: Request) -> HttpResponse:
    """Show what was found, or how to look for something."""
    given = _given(request.GET)
    query = language.read(given["q"], given)
    found = searching.search(request.user.pk, query)
    best = given.get("sort") == "best"
    below = _key(request.GET.get("below", ""))
    hits = found.best() if best else found.newest(below)
    context = {
        "given": given,
        "query": urlencode(given) if query.looks else "",
        "looks": query.looks,
        "chosen": any(name in given for name in language.FILTERS),
        "problems": found.problems,
        "rows": [_row(hit, query.words) for hit in hits.rows],
        "count": _count(found, hits, best=best, below=below),
        "best": best,
        "among": f"{searching.AMONG:,}",
        "following": urlencode(given | {"below": hits.before}) if hits.before else "",
        "continued": bool(below),
        "first_page": urlencode(given),
        "waiting": indexed.waiting(request.user.pk),
        "saved": saved.saved(request.user.pk),
        "kinds": words.SEARCHED,
        "states": {tag: words.STATES[tag][0] for tag in STATES if tag != "open"}
        | {"open": words.STATES["open"][0]},
        "reasons": [reason.value for reason in CancellationReason],
        "sorts": SORTS,
        "examples": [(typed, means, urlencode({"q": typed})) for typed, means in EXAMPLES],
        "longest": language.LONGEST,
    }
    return render(request, "search/index.html", context)


@require_POST
@access.signed_in
def save(request: Request) -> HttpResponse:
    """Keep a search by a name; its query is what stands in the address of the page."""
    name, query = request.POST.get("name", "").strip(), _query(request)
    if not name:
        messages.error(request, "Enter a name for this search.")
    elif not query or len(query) > saved.QUERY:
        messages.error(request, "There is no search to save, or it is too long to save.")
    elif not saved.save(request.user.pk, name, query):
        messages.error(
            request, f"You have {saved.MOST} saved searches. Delete one to save another."
        )
    else:
        messages.success(request, f"Saved as “{name[: saved.NAME]}”.")
    return _back(query)


@require_POST
@access.signed_in
def forget(request: Request) -> HttpResponse:
    """Delete a saved search of one's own."""
    if saved.forget(request.user.pk, _key(request.POST.get("search", ""))):
        messages.success(request, "Deleted the saved search.")
    else:
        messages.info(request, "This search was already deleted.")
    return _back(_query(request))


def _given(query: QueryDict) -> dict[str, str]:
    """Return what the address says, without what is empty; what was typed is there always."""
    names = (*language.FILTERS, "sort")
    filled = {name: query.get(name, "").strip() for name in names}
    kept = {name: value for name, value in filled.items() if value}
    return {"q": query.get("q", "").strip()} | kept


def _count(found: Search, hits: Hits, *, best: bool, below: int) -> str:
    """Return how many there are, in words; counted only where the page does not show all."""
    if not below and not hits.before and not (best and len(hits.rows) == searching.BEST):
        total = len(hits.rows)
    else:
        total = found.count()
    if total > searching.MOST:
        return f"More than {searching.MOST} results"
    return f"{total} result{'' if total == 1 else 's'}" if total else "No results"


def _row(hit: Hit, lit: str) -> Mapping[str, Any]:
    """Return a hit with the link that lands on it."""
    link = reverse("conversation", kwargs={"conversation_id": hit.conversation_id})
    if hit.anchor:
        given = {"at": hit.anchor} | ({"q": lit} if lit else {})
        link += f"?{urlencode(given)}#{hit.anchor}"
    return {"hit": hit, "link": link}


def _key(text: str) -> int:
    """Return a key that stood in an address or a form, or 0 where it cannot be one."""
    return numbers.read(text, numbers.KEY) or 0


def _query(request: Request) -> str:
    """Return the address's query that a form carries, with nothing in it but what is known."""
    given = _given(QueryDict(request.POST.get("query", "")[: 2 * saved.QUERY]))
    return urlencode({name: value for name, value in given.items() if value})


def _back(query: str) -> HttpResponse:
    response = redirect("search")
    response["Location"] += f"?{query}" if query else ""
    return response
