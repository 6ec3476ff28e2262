"""Approvals of tool calls before they run, and of results before the model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals
from jpweb.store.choices import Role
from jpweb.store.errors import AlreadyDecided
from jpweb.store.inbox import claims
from jpweb.store.inquiries import Decider
from jpweb.stream.errors import InvalidAnswer
from jpweb.web import access
from jpweb.web.forms.answers import ApprovalForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.runtime.inquiries.approvals import ApprovalVerdict
    from jpweb.store.models import Approval
    from jpweb.web.http import Request

_SETTLED = "approvals/_settled.html"


@access.approval(Role.RESPONDER)
def show_approval(request: Request, approval: Approval) -> HttpResponse:
    """Show one approval in full, or its decision; htmx gets the decision, once there is one."""
    is_pending = approval.state == "open" and approval.run is not None
    if request.htmx:
        context = {"row": approval, "oob": True, "shows_conversation": True}
        return HttpResponse(status=204) if is_pending else render(request, _SETTLED, context)
    claims.attach_claims([approval])
    name = "approvals/_card.html" if is_pending else _SETTLED
    context = {"row": approval, "is_full": True, "shows_conversation": True, "fragment": name}
    return render(request, "approvals/detail.html", context)


@require_POST
@access.approval(Role.RESPONDER)
async def allow_call(request: Request, approval: Approval) -> HttpResponse:
    """Allow the call to run, or the model to read the result."""
    verdict = ApprovalForm(request.POST).make_verdict(allow=True)
    return await _save_decision(request, approval, verdict)


@require_POST
@access.approval(Role.RESPONDER)
async def deny_call(request: Request, approval: Approval) -> HttpResponse:
    """Skip the call, or withhold the result."""
    verdict = ApprovalForm(request.POST).make_verdict(allow=False)
    return await _save_decision(request, approval, verdict)


@access.approval(Role.RESPONDER)
def choose_claim(request: Request, approval: Approval) -> HttpResponse:
    """Show the form that claims an approval; scripts post it from the card."""
    context = {"row": approval, "kind": "approval", "fragment": "questions/_claim_form.html"}
    return render(request, "approvals/detail.html", context)


@require_POST
@access.approval(Role.RESPONDER)
async def claim_approval(request: Request, approval: Approval) -> HttpResponse:
    """Tell the team that the person is on an approval; another person's claim stays."""
    await run_in_db_thread(claims.claim_approval, approval, request.user)
    return await _send_claim(request, approval)


@require_POST
@access.approval(Role.RESPONDER)
async def release_claim(request: Request, approval: Approval) -> HttpResponse:
    await run_in_db_thread(claims.release_claim, approval, request.user)
    return await _send_claim(request, approval)


async def _send_claim(request: Request, approval: Approval) -> HttpResponse:
    """Publish a change of an approval's claim; send its part of the card, or the queue."""
    await publisher.publish_questions_changed(approval.conversation.workspace_id)
    if not request.htmx:
        response = redirect("questions")
        response["Location"] += f"#approval-{approval.pk}"
        return response
    await run_in_db_thread(claims.attach_claims, [approval])
    claim = approval.claim  # type: ignore[attr-defined]  # attached
    context = {"kind": "approval", "key": approval.pk, "claim": claim}
    return await run_in_db_thread(render, request, "questions/_claim.html", context)


async def _save_decision(
    request: Request, approval: Approval, verdict: ApprovalVerdict
) -> HttpResponse:
    decider = Decider.from_member(request.user)
    try:
        row = await approvals.decide_approval(approval.pk, verdict, decider)
    except InvalidAnswer as error:
        await run_in_db_thread(claims.attach_claims, [approval])
        context = {
            "row": approval,
            "typed_text": verdict.text,
            "problem": str(error),
            "shows_conversation": True,
        }
        return await _render_fragment(request, "_card", context, 422)
    except AlreadyDecided as conflict:
        typed_text = approvals.recover_typed_text(approval, verdict)
        row = conflict.approval
        context = {
            "row": row,
            "is_late": True,
            "typed_text": typed_text,
            # The decider may be the sender, who pressed twice or whose first reply was lost.
            "is_own_decision": row.decider_id == decider.person_id,
        }
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
