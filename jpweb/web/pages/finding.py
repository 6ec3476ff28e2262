"""Finding in one conversation, and stepping through it: also what the page has not loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.store.browsing import steps, windows
from jpweb.store.errors import UnknownEvent
from jpweb.store.finding import within
from jpweb.store.terms import Role
from jpweb.web import access, numbers
from jpweb.web.security import limits
from jpweb.web.transcript import Choice

if TYPE_CHECKING:
    from jpweb.store.finding.within import Hit
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Hits on a page of them.
PAGE = 50
#: Before, and after, every position that there can be.
_FIRST, _LAST = -1, numbers.POSITION
_JSON = "application/json"
#: What people call what they step between.
_WORDS = {"item": "event", "prompt": "prompt", "inquiry": "question", "problem": "problem"}


@access.conversation(Role.READER)
@limits.limit_searches
def find(request: Request, conversation: Conversation) -> HttpResponse:
    """List what was found; to a script say where the nearest hit is."""
    words = request.GET.get("q", "").strip()[: within.LONGEST]
    if request.get_preferred_type(["text/html", _JSON]) == _JSON:
        return JsonResponse(_nearest(request, conversation, words))
    show = Choice.read(request.GET.dict()).kept(q="")
    found = within.within(
        conversation.pk, words, after=_number(request.GET.get("after"), _FIRST), limit=PAGE
    )
    last = found.hits[-1] if found.hits else None
    context = {
        "conversation": conversation,
        "here": reverse("conversation", args=[conversation.pk]),
        "words": words,
        "looks": bool(within.terms(words)),
        "query": "&".join(each for each in (show, urlencode({"q": words})) if each),
        "found": found,
        "last": last,
        "later": last is not None and last.number < found.total,
        "continued": bool(found.hits) and found.hits[0].number > 1,
    }
    return render(request, "conversations/find.html", context)


@access.conversation(Role.READER)
def step(request: Request, conversation: Conversation) -> HttpResponse:
    """Go to the next or previous event of a sort; to a script say where it is."""
    what, back = request.GET.get("what", "item"), request.GET.get("to") == "previous"
    choice = Choice.read(request.GET.dict())
    if what not in steps.SORTS:
        sorts = ", ".join(steps.SORTS)
        return HttpResponseBadRequest(f"Unknown step. Use what=<one of {sorts}>.")
    shown = choice.facets if what == "item" and choice.facets is not None else steps.SORTS[what]
    look = steps.preceding if back else steps.following
    head = _number(request.GET.get("from"), _LAST if back else _FIRST)
    found = look(conversation.pk, head, shown)
    if request.get_preferred_type(["text/html", _JSON]) == _JSON:
        anchor = found.anchor if found else ""
        item = steps.anchor(conversation.pk, found.head) if found else ""
        return JsonResponse({"anchor": anchor, "item": item})
    here = reverse("conversation", args=[conversation.pk])
    if found is None:
        side = "earlier" if back else "later"
        messages.info(request, f"No {side} {_WORDS[what]}.")
        return redirect(f"{here}?{choice.kept(at='0' if back else 'end')}")
    return redirect(f"{here}?{choice.kept(at=found.anchor)}#{found.anchor}")


def _nearest(request: Request, conversation: Conversation, words: str) -> dict[str, Any]:
    """Return the hit after or before a place, or the first or last one where there is none."""
    key, says = conversation.pk, request.GET
    place = _place(key, says.get("at", ""))
    hit: Hit | None
    if says.get("to") == "previous":
        before = _number(says.get("from"), _LAST) if place is None else place
        hit = within.preceding(key, words, before) or within.preceding(key, words, _LAST)
    else:
        after = _number(says.get("from"), _FIRST) if place is None else place - 1
        hit = within.following(key, words, after) or within.following(key, words, _FIRST)
    found = within.within(key, words, limit=0)
    said = {
        "total": found.total,
        "more": found.more,
        "behind": found.behind,
        "terms": within.terms(words),
    }
    if hit is None:
        return said
    item = steps.anchor(key, hit.head)
    return said | {
        "number": hit.number,
        "position": hit.position,
        "anchor": hit.anchor,
        "item": item,
    }


def _place(conversation_id: int, anchor: str) -> int | None:
    """Return the position of an event, or None where there is no such one."""
    try:
        return windows.position(conversation_id, anchor) if anchor else None
    except UnknownEvent:
        return None


def _number(text: str | None, otherwise: int) -> int:
    """Read a position; what is none counts as not said."""
    number = numbers.read(text)
    return otherwise if number is None else number
