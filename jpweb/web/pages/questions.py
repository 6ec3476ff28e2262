"""Questions: everything that waits, one alone, and the two things a person can do about it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from jpweb.runtime import showing
from jpweb.runtime.crossing import in_store
from jpweb.store import inquiries, prompts
from jpweb.store.inquiries import Decider
from jpweb.store.telling import earlier, showings
from jpweb.store.terms import UNFINISHED, Role
from jpweb.web import access, answering, words
from jpweb.web.answering import Typed

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry
    from jpweb.store.telling.showings import Proof
    from jpweb.web.answering import Reply
    from jpweb.web.http import Request


@access.somewhere(Role.RESPONDER)
def index(request: Request) -> HttpResponse:
    me = request.user.pk
    waiting = prompts.queue(me)
    earlier.attach(waiting)
    showing.delivered(me, [row.pk for row in waiting if not prompts.is_one(row)])
    every = prompts.waiting_count(me, most=None)
    context = {
        "waiting_here": waiting,
        "waiting_all": every,
        "more": max(every - len(waiting), 0),
        "unasked": inquiries.closed_unasked(me),
        "mine": inquiries.decided_by(me),
    }
    return render(request, "questions/index.html", context)


@access.inquiry(Role.READER)
def detail(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Show one question: its card where it waits for this person, how it ended, its course.

    To htmx only what may have changed on the page since.
    """
    me, home = request.user.pk, inquiry.conversation.workspace_id
    run = inquiry.run
    waits = inquiry.state == inquiries.OPEN and run is not None and run.state in UNFINISHED
    card = waits and access.may(me, home, Role.RESPONDER)
    if card:
        showing.delivered(me, [inquiry.pk])
    reviews = access.may(me, home, Role.AUDITOR)
    proof = showings.proof(inquiry.pk) if reviews else None
    context = {
        "row": inquiry,
        "waits": waits,
        "card": card,
        "elsewhere": True,
        "proof": proof,
        "course": _course(inquiry, proof),
    }
    name = "questions/_changes.html" if request.htmx else "questions/detail.html"
    return render(request, name, context)


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer")
async def answer(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Answer; a secret is neither kept nor sent back."""
    sent = request.POST
    typed = Typed(sent.get("answer", ""), "remember" in sent, sent.get("note", ""))
    return await _reply(request, await answering.answer(inquiry, _me(request), typed))


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer", "note")
async def decline(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Close a question without an answer; a note may say why."""
    note = request.POST.get("note", "")
    return await _reply(request, await answering.decline(inquiry, _me(request), note))


def _course(row: Inquiry, proof: Proof | None) -> list[dict[str, Any]]:
    """Return what happened to a question, in order; with the proof, what people saw of it."""

    def step(what: str, at: datetime, who: str = "", **more: Any) -> dict[str, Any]:
        after = words.duration(max((at - row.asked_at).total_seconds(), 0))
        return {"what": what, "at": at, "who": who, "after": after} | more

    steps = [step("asked", row.asked_at, row.label or row.asker)]
    for column in words.SHOWN if proof else ():
        seen = showings.first(proof.showings, column) if proof else None
        if seen is not None:
            at = getattr(seen, column)
            steps.append(step(column, at, seen.person.display_name))
    for notice in proof.notices if proof else ():
        who = notice.address.person.display_name
        steps.append(step("told", notice.sent_at, who, problem=notice.problem))
    if row.settled_at is not None:
        steps.append(step("settled", row.settled_at))
    # An answer may be on record before what was seen of its card.
    return sorted(steps, key=lambda each: each["at"])


def _me(request: Request) -> Decider:
    return Decider("person", request.user.display_name, request.user.pk)


async def _reply(request: Request, reply: Reply) -> HttpResponse:
    """Send a card alone to htmx; where scripts are off a page of its own, or on to the event."""
    if reply.status == answering.SETTLED:
        if request.htmx:
            # Nothing of the request is shown, and nothing of what the head of a page shows.
            return HttpResponse(await reply.html())
        response = redirect("conversation", conversation_id=reply.row.conversation_id)
        response["Location"] += f"#{reply.row.anchor}"
        return response
    context, name = reply.context, reply.name
    if not request.htmx:
        context, name = context | {"fragment": name}, "questions/one.html"
    return await in_store(render, request, name, context, status=reply.status)
