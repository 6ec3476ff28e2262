"""Approvals of tool calls before they run, and of results before the model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals
from jpweb.runtime.inquiries.approvals import Verdict
from jpweb.store.choices import Role
from jpweb.store.errors import AlreadyDecided
from jpweb.store.inquiries import Decider
from jpweb.stream.errors import InvalidAnswer
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Approval
    from jpweb.web.http import Request


@access.approval(Role.RESPONDER)
def show_approval(request: Request, approval: Approval) -> HttpResponse:
    """Show one approval in full, or its decision."""
    name = "approvals/_card.html" if approval.state == "open" else "approvals/_settled.html"
    context = {"row": approval, "is_full": True, "shows_conversation": True, "fragment": name}
    return render(request, "approvals/detail.html", context)


@require_POST
@access.approval(Role.RESPONDER)
async def allow_call(request: Request, approval: Approval) -> HttpResponse:
    """Allow the call to run, or the model to read the result."""
    typed = request.POST.get("text")
    return await _save_decision(request, approval, Verdict(True, "remember" in request.POST, typed))


@require_POST
@access.approval(Role.RESPONDER)
async def deny_call(request: Request, approval: Approval) -> HttpResponse:
    """Skip the call, or withhold the result."""
    reason = request.POST.get("reason", "")
    verdict = Verdict(False, "remember" in request.POST, reason=reason)
    return await _save_decision(request, approval, verdict)


async def _save_decision(request: Request, approval: Approval, verdict: Verdict) -> HttpResponse:
    decider = Decider("person", request.user.display_name, request.user.pk)
    try:
        row = await approvals.decide_approval(approval.pk, verdict, decider)
    except InvalidAnswer as error:
        context = {
            "row": approval,
            "typed_text": verdict.text,
            "problem": str(error),
            "shows_conversation": True,
        }
        return await _render_fragment(request, "_card", context, 422)
    except AlreadyDecided as conflict:
        typed_text = approvals.recover_typed_text(approval, verdict)
        context = {"row": conflict.approval, "is_late": True, "typed_text": typed_text}
        return await _render_fragment(request, "_settled", context, 409)
    if request.htmx:
        return await _render_fragment(request, "_settled", {"row": row}, 200)
    return redirect("conversation", conversation_id=row.conversation_id)


async def _render_fragment(
    request: Request, template_name: str, context: Mapping[str, object], status: int
) -> HttpResponse:
    """Send the card as a fragment to htmx, or as a page where scripts are off."""
    template_name = f"approvals/{template_name}.html"
    page_context = {**context, "fragment": template_name}
    template_name = template_name if request.htmx else "approvals/detail.html"
    return await run_in_db_thread(render, request, template_name, page_context, status=status)
