"""Find in one conversation, and step through its events, including those not loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.store.choices import Role
from jpweb.store.errors import UnknownAnchor
from jpweb.store.search import find_in_conversation
from jpweb.store.transcript import navigation, windows
from jpweb.web import access, converters, display_text, notice_text
from jpweb.web.security import rate_limits
from jpweb.web.transcript import TranscriptQuery

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.store.search.find_in_conversation import EventMatch
    from jpweb.web.http import Request

#: Matches per page.
HITS_PER_PAGE = 50
#: Positions before the first and after the last possible one.
_BEFORE_FIRST, _AFTER_LAST = -1, converters.MAX_POSITION
_JSON_TYPE = "application/json"


@access.conversation(Role.READER)
@rate_limits.limit_searches
def search_conversation(request: Request, conversation: Conversation) -> HttpResponse:
    """List the matches; to a script return the position of the nearest one."""
    words = request.GET.get("q", "").strip()[: find_in_conversation.MAX_QUERY_CHARS]
    if request.get_preferred_type(["text/html", _JSON_TYPE]) == _JSON_TYPE:
        return JsonResponse(_find_nearest_hit(request, conversation, words))
    filter_query = TranscriptQuery.from_params(request.GET.dict()).to_query_string(q="")
    matches = find_in_conversation.find_matches(
        conversation.pk,
        words,
        after=_parse_position(request.GET.get("after"), _BEFORE_FIRST),
        limit=HITS_PER_PAGE,
    )
    last_match = matches.matches[-1] if matches.matches else None
    context = {
        "conversation": conversation,
        "page_url": reverse("conversation", args=[conversation.pk]),
        "words": words,
        "has_terms": bool(find_in_conversation.parse_terms(words)),
        "query_string": "&".join(part for part in (filter_query, urlencode({"q": words})) if part),
        "match_page": matches,
        "last_match": last_match,
        "has_next": last_match is not None and last_match.number < matches.total,
        "has_previous": bool(matches.matches) and matches.matches[0].number > 1,
    }
    return render(request, "conversations/find.html", context)


@access.conversation(Role.READER)
def step_to_event(request: Request, conversation: Conversation) -> HttpResponse:
    """Redirect to the next or previous event of a sort; to a script return its anchor."""
    sort, is_backward = request.GET.get("what", "item"), request.GET.get("to") == "previous"
    query = TranscriptQuery.from_params(request.GET.dict())
    if sort not in navigation.CATEGORIES_BY_SORT:
        sorts = ", ".join(navigation.CATEGORIES_BY_SORT)
        return HttpResponseBadRequest(notice_text.STEP_UNKNOWN.format(sorts=sorts))
    categories = (
        query.categories
        if sort == "item" and query.categories is not None
        else navigation.CATEGORIES_BY_SORT[sort]
    )
    find_step = navigation.find_previous if is_backward else navigation.find_next
    item_position = _parse_position(
        request.GET.get("from"), _AFTER_LAST if is_backward else _BEFORE_FIRST
    )
    target = find_step(conversation.pk, item_position, categories)
    if request.get_preferred_type(["text/html", _JSON_TYPE]) == _JSON_TYPE:
        anchor = target.anchor if target else ""
        item = navigation.get_anchor(conversation.pk, target.item_position) if target else ""
        return JsonResponse({"anchor": anchor, "item": item})
    page_url = reverse("conversation", args=[conversation.pk])
    if target is None:
        text = notice_text.NO_EARLIER_EVENT if is_backward else notice_text.NO_LATER_EVENT
        messages.info(request, text.format(sort=display_text.STEP_LABELS[sort]))
        return redirect(f"{page_url}?{query.to_query_string(at='0' if is_backward else 'end')}")
    return redirect(f"{page_url}?{query.to_query_string(at=target.anchor)}#{target.anchor}")


def _find_nearest_hit(request: Request, conversation: Conversation, words: str) -> dict[str, Any]:
    """Return the match after or before a position; where there is none, the first or last one."""
    conversation_id, params = conversation.pk, request.GET
    position = _find_position(conversation_id, converters.parse_anchor(params.get("at")))
    hit: EventMatch | None
    if params.get("to") == "previous":
        before = _parse_position(params.get("from"), _AFTER_LAST) if position is None else position
        hit = find_in_conversation.find_previous(
            conversation_id, words, before
        ) or find_in_conversation.find_previous(conversation_id, words, _AFTER_LAST)
    else:
        after = (
            _parse_position(params.get("from"), _BEFORE_FIRST) if position is None else position - 1
        )
        hit = find_in_conversation.find_next(
            conversation_id, words, after
        ) or find_in_conversation.find_next(conversation_id, words, _BEFORE_FIRST)
    matches = find_in_conversation.find_matches(conversation_id, words, limit=0)
    summary = {
        "total": matches.total,
        "more": matches.has_more,
        "unindexed": matches.unindexed_events,
        "terms": find_in_conversation.parse_terms(words),
    }
    if hit is None:
        return summary
    item = navigation.get_anchor(conversation_id, hit.item_position)
    return summary | {
        "number": hit.number,
        "position": hit.position,
        "anchor": hit.anchor,
        "item": item,
    }


def _find_position(conversation_id: int, anchor: str) -> int | None:
    """Return the position of an event, None for an unknown anchor."""
    try:
        return windows.get_position(conversation_id, anchor) if anchor else None
    except UnknownAnchor:
        return None


def _parse_position(text: str | None, default: int) -> int:
    """Return a position as a number, the default where it is none."""
    number = converters.parse_number(text)
    return default if number is None else number
