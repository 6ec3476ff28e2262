"""The page behind a link of a notice: one question, answered by one person, once.

The token is the right, so nobody need be signed in, and the form needs no other token: who cannot
read the address cannot forge the form. Looking uses nothing up, since programs that scan mail and
show previews look too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import NobodyWaits
from jpweb.store.errors import AlreadySettled, BadLink, ReadOnly
from jpweb.store.inquiries import Decider
from jpweb.store.telling import links
from jpweb.store.telling.links import Link, Standing
from jpweb.stream.errors import Unfit
from jpweb.web import access
from jpweb.web.answering import NOBODY

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry

#: The status of a page that says why a link settles nothing.
CLOSED = {Standing.SETTLED: 200, Standing.OVER: 410, Standing.BARRED: 403}


@csrf_exempt
@access.public
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("answer", "note")
async def answer(request: HttpRequest, token: str) -> HttpResponse:
    """Show a question, or settle it as the person whose link it is."""
    try:
        link = await in_store(links.find, token)
    except BadLink as problem:
        return await _page(request, "bad", {"problem": str(problem)}, 404)
    if request.method != "POST":
        return await _shown(request, link)
    if link.standing is not Standing.LIVE:
        late = link.standing is Standing.SETTLED
        return await _shown(request, link, late=late, status=409 if late else None)
    return await _settle(request, token, link)


@sensitive_variables("typed")
async def _settle(request: HttpRequest, token: str, link: Link) -> HttpResponse:
    by = Decider("person", link.person.display_name, link.person.pk)
    typed = request.POST.get("answer", "")
    declined = request.POST.get("do") == "decline"
    try:
        if declined:
            await desk.decline(link.inquiry.pk, by, request.POST.get("note", ""))
        else:
            remember = "remember" in request.POST
            await desk.answer(link.inquiry.pk, typed, by, remember=remember)
    except (Unfit, ReadOnly) as problem:
        return await _card(request, link, str(problem), 422)
    except AlreadySettled:
        return await _shown(request, await in_store(links.find, token), late=True, status=409)
    except NobodyWaits:
        return await _card(request, link, NOBODY, 422, keep=False)
    await in_store(links.use, link.key)
    return await _shown(request, await in_store(links.find, token), done=True)


async def _shown(
    request: HttpRequest,
    link: Link,
    *,
    status: int | None = None,
    late: bool = False,
    done: bool = False,
) -> HttpResponse:
    """Show the card of a question that waits, or how the link ended."""
    if link.standing is Standing.LIVE:
        return await _card(request, link)
    # Whoever was first may be who sends again, since no reply had come.
    mine = link.inquiry.decider_id == link.person.pk
    context = {"late": late, "done": done, "mine": mine}
    return await _page(request, link.standing.value, context, status or CLOSED[link.standing], link)


async def _card(
    request: HttpRequest, link: Link, problem: str = "", status: int = 200, *, keep: bool = True
) -> HttpResponse:
    """Show the card; what was typed stands in it again, but never a secret."""
    kept = keep and link.inquiry.answer_type != "secret"
    context: dict[str, Any] = {
        "problem": problem,
        "typed": request.POST.get("answer", "") if kept else "",
        "note": request.POST.get("note", ""),
        "remember": "remember" in request.POST,
    }
    return await _page(request, "one", context, status, link)


async def _page(
    request: HttpRequest, name: str, context: dict[str, Any], status: int, link: Link | None = None
) -> HttpResponse:
    """Send a page that no cache keeps, no search engine lists, and whose address goes nowhere."""
    if link is not None:
        row: Inquiry = link.inquiry
        context |= {"row": row, "person": link.person, "reads": link.reads}
    response = await in_store(_render, request, f"links/{name}.html", context, status)
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


def _render(request: HttpRequest, name: str, context: dict[str, Any], status: int) -> HttpResponse:
    person = context.get("person")
    own = person is not None and request.user.is_authenticated and request.user.pk == person.pk
    return render(request, name, context | {"own": own}, status=status)
