"""Questions: everything that waits, one alone, and the two things a person can do about it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST

from jpweb.runtime import desk, showing
from jpweb.runtime.crossing import in_store
from jpweb.runtime.secrets import NobodyWaits
from jpweb.store import inquiries, prompts
from jpweb.store.errors import AlreadySettled, ReadOnly
from jpweb.store.inquiries import Decider
from jpweb.store.telling import earlier, showings
from jpweb.store.terms import UNFINISHED, Role
from jpweb.stream.errors import Unfit
from jpweb.web import access, words

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry
    from jpweb.store.telling.showings import Proof
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
@sensitive_variables("typed")
async def answer(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Answer; a secret is neither kept nor sent back."""
    typed = request.POST.get("answer", "")
    kept = "" if inquiry.answer_type == "secret" else typed
    try:
        row = await desk.answer(inquiry, typed, _me(request), remember="remember" in request.POST)
    except Unfit as problem:
        return await _card(request, inquiry, kept, str(problem))
    except AlreadySettled:
        return await _late(request, inquiry, kept)
    except ReadOnly as problem:
        return await _card(request, inquiry, kept, str(problem))
    except NobodyWaits:
        problem_text = (
            "The call that asked is not waiting now. What you typed was dropped and "
            "kept nowhere; if the question is still needed it will be asked again."
        )
        return await _card(request, inquiry, "", problem_text)
    return await _settled(request, row)


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer", "note")
async def decline(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Close a question without an answer; a note may say why."""
    note = request.POST.get("note", "")
    try:
        row = await desk.decline(inquiry, _me(request), note)
    except AlreadySettled:
        return await _late(request, inquiry, note)
    except ReadOnly as problem:
        return await _card(request, inquiry, "", str(problem))
    return await _settled(request, row)


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


async def _settled(request: Request, row: Inquiry) -> HttpResponse:
    if request.htmx:
        # Nothing of the request is shown, and nothing of what the head of a page shows.
        return HttpResponse(render_to_string("questions/_settled.html", {"row": row}))
    response = redirect("conversation", conversation_id=row.conversation_id)
    response["Location"] += f"#{row.anchor}"
    return response


async def _late(request: Request, inquiry: Inquiry, typed: str) -> HttpResponse:
    """Tell the second person who was first, and give them their text back."""
    row = await in_store(inquiries.get, inquiry.pk)
    # Whoever was first may be who sends again, since no reply had come.
    context = {"row": row, "late": True, "typed": typed, "own": row.decider_id == request.user.pk}
    return await _fragment(request, "questions/_settled.html", context, 409)


async def _card(request: Request, inquiry: Inquiry, typed: str, problem: str) -> HttpResponse:
    context = {"row": inquiry, "typed": typed, "problem": problem, "elsewhere": True}
    context |= {"remember": "remember" in request.POST, "note": request.POST.get("note", "")}
    return await _fragment(request, "questions/_card.html", context, 422)


async def _fragment(
    request: Request, name: str, context: dict[str, object], status: int
) -> HttpResponse:
    """Send a card alone to htmx, or in a page of its own where scripts are off."""
    if not request.htmx:
        context, name = context | {"fragment": name}, "questions/one.html"
    return await in_store(render, request, name, context, status=status)
