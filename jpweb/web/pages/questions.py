"""Questions: everything that waits, and the two things a person can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import NobodyWaits
from jpweb.store import inquiries, prompts
from jpweb.store.errors import AlreadySettled, ReadOnly
from jpweb.store.inquiries import Decider
from jpweb.store.terms import Role
from jpweb.stream.errors import Unfit
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry
    from jpweb.web.http import Request


@access.somewhere(Role.RESPONDER)
def index(request: Request) -> HttpResponse:
    me = request.user.pk
    context = {
        "waiting_here": prompts.queue(me),
        "unasked": inquiries.closed_unasked(me),
        "mine": inquiries.decided_by(me),
    }
    return render(request, "questions/index.html", context)


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer")
@sensitive_variables("typed")
async def answer(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Answer; a secret is neither kept nor sent back."""
    typed = request.POST.get("answer", "")
    kept = "" if inquiry.answer_type == "secret" else typed
    try:
        row = await desk.answer(
            inquiry.pk, typed, _me(request), remember="remember" in request.POST
        )
    except Unfit as problem:
        return await _card(request, inquiry, kept, str(problem))
    except AlreadySettled:
        return await _late(request, inquiry, kept)
    except ReadOnly as problem:
        return await _card(request, inquiry, kept, str(problem))
    except NobodyWaits:
        problem_text = (
            "The call that asked is not waiting in this server. What you typed was dropped and "
            "kept nowhere; if the question is still needed it will be asked again."
        )
        return await _card(request, inquiry, "", problem_text)
    return await _settled(request, row)


@require_POST
@access.inquiry(Role.RESPONDER)
async def decline(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Close a question without an answer."""
    try:
        row = await desk.decline(inquiry.pk, _me(request))
    except AlreadySettled:
        return await _late(request, inquiry, "")
    except ReadOnly as problem:
        return await _card(request, inquiry, "", str(problem))
    return await _settled(request, row)


def _me(request: Request) -> Decider:
    return Decider("person", request.user.display_name, request.user.pk)


async def _settled(request: Request, row: Inquiry) -> HttpResponse:
    if request.htmx:
        return await in_store(render, request, "questions/_settled.html", {"row": row})
    response = redirect("conversation", conversation_id=row.conversation_id)
    response["Location"] += f"#{row.anchor}"
    return response


async def _late(request: Request, inquiry: Inquiry, typed: str) -> HttpResponse:
    """Tell the second person who was first, and give them their text back."""
    row = await in_store(inquiries.get, inquiry.pk)
    context = {"row": row, "late": True, "typed": typed}
    return await _fragment(request, "questions/_settled.html", context, 409)


async def _card(request: Request, inquiry: Inquiry, typed: str, problem: str) -> HttpResponse:
    context = {"row": inquiry, "typed": typed, "problem": problem, "elsewhere": True}
    context["remember"] = "remember" in request.POST
    return await _fragment(request, "questions/_card.html", context, 422)


async def _fragment(
    request: Request, name: str, context: dict[str, object], status: int
) -> HttpResponse:
    """Send a card alone to htmx, or in a page of its own where scripts are off."""
    if not request.htmx:
        context, name = context | {"fragment": name}, "questions/one.html"
    return await in_store(render, request, name, context, status=status)
