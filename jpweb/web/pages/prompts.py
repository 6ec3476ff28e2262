"""Prompts: may a call run, may the model see a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.runtime import prompts
from jpweb.runtime.crossing import in_store
from jpweb.runtime.prompts import Verdict
from jpweb.store.errors import AlreadyDecided
from jpweb.store.inquiries import Decider
from jpweb.store.terms import Role
from jpweb.stream.errors import Unfit
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Prompt
    from jpweb.web.http import Request


@access.prompt(Role.RESPONDER)
def detail(request: Request, prompt: Prompt) -> HttpResponse:
    """Show one prompt, whole, or what became of it."""
    name = "prompts/_card.html" if prompt.state == "open" else "prompts/_settled.html"
    context = {"row": prompt, "whole": True, "elsewhere": True, "fragment": name}
    return render(request, "prompts/one.html", context)


@require_POST
@access.prompt(Role.RESPONDER)
async def allow(request: Request, prompt: Prompt) -> HttpResponse:
    """Let the call run, or let the model see the result."""
    typed = request.POST.get("text")
    return await _decide(request, prompt, Verdict(True, "remember" in request.POST, typed))


@require_POST
@access.prompt(Role.RESPONDER)
async def refuse(request: Request, prompt: Prompt) -> HttpResponse:
    """Skip the call, or withhold the result."""
    reason = request.POST.get("reason", "")
    verdict = Verdict(False, "remember" in request.POST, reason=reason)
    return await _decide(request, prompt, verdict)


async def _decide(request: Request, prompt: Prompt, verdict: Verdict) -> HttpResponse:
    me = Decider("person", request.user.display_name, request.user.pk)
    try:
        row = await prompts.decide(prompt.pk, verdict, me)
    except Unfit as problem:
        context = {"row": prompt, "typed": verdict.text, "problem": str(problem), "elsewhere": True}
        return await _fragment(request, "_card", context, 422)
    except AlreadyDecided as first:
        typed = prompts.typed(prompt, verdict)
        context = {"row": first.prompt, "late": True, "typed": typed}
        return await _fragment(request, "_settled", context, 409)
    if request.htmx:
        return await _fragment(request, "_settled", {"row": row}, 200)
    return redirect("conversation", conversation_id=row.conversation_id)


async def _fragment(
    request: Request, name: str, context: Mapping[str, object], status: int
) -> HttpResponse:
    """Send a card alone to htmx, or in a page of its own where scripts are off."""
    name = f"prompts/{name}.html"
    shown = {**context, "fragment": name}
    name = name if request.htmx else "prompts/one.html"
    return await in_store(render, request, name, shown, status=status)
