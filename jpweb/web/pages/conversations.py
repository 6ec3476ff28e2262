"""One conversation, one event; and asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.runtime import exports, runs, showing, wiring
from jpweb.runtime.crossing import in_store
from jpweb.store import accounts, conversations, journal, prompts
from jpweb.store.errors import StoreError
from jpweb.store.inquiries import Decider
from jpweb.store.terms import Role
from jpweb.stream.outline import outline
from jpweb.web import access, changes

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request

#: Characters of the first words that become the title.
TITLE = 60


@access.conversation(Role.READER)
def detail(request: Request, conversation: Conversation) -> HttpResponse:
    return _detail(request, conversation)


def _detail(request: Request, conversation: Conversation, said: str = "") -> HttpResponse:
    """Render a conversation; ``said`` is what somebody typed that could not be sent."""
    # The run first: a page that says it has ended then holds all that it said.
    context = changes.composer(request.user.pk, conversation)
    read = journal.elements(conversation.pk)
    waiting = prompts.queue(request.user.pk, conversation.pk)
    every = prompts.waiting_count(request.user.pk, conversation.pk, most=None)
    showing.delivered(request.user.pk, [row.pk for row in waiting if not prompts.is_one(row)])
    context |= {
        "outline": outline(read),
        "length": len(read),
        "waiting_here": waiting,
        "waiting_all": every,
        "more": max(every - len(waiting), 0),
        "said": said,
        "formats": exports.FORMATS,
        "may_export": access.may(request.user.pk, conversation.workspace_id, Role.AUDITOR),
    }
    return render(request, "conversations/detail.html", context, status=422 if said else 200)


@access.conversation(Role.AUDITOR)
def export(
    request: Request,  # noqa: ARG001  views take it
    conversation: Conversation,
    format_name: str,
) -> HttpResponse:
    """Download a conversation."""
    chosen = exports.FORMATS.get(format_name)
    if chosen is None:
        raise Http404
    response = HttpResponse(chosen.make(conversation), content_type=chosen.content_type)
    name = f"jp-c{conversation.jp_id}{chosen.suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@access.somewhere(Role.RESPONDER)
async def begin(request: Request) -> HttpResponse:
    """Start a conversation: the form, and what it sends."""
    mine = await in_store(accounts.workspaces, request.user.pk, Role.RESPONDER)
    text = request.POST.get("text", "").strip()
    chosen = next((w for w in mine if str(w.pk) == request.POST.get("workspace")), None)
    problem = ""
    if request.method == "POST":
        if chosen is None:
            problem = "Choose a workspace."
        elif not text:
            problem = "Say what the conversation is about."
        elif (hindrance := (await in_store(wiring.player, chosen)).problem) != "":
            problem = f"A turn cannot begin in {chosen.name}. {hindrance}"
        else:
            title = text.splitlines()[0][:TITLE].replace("\x00", "")
            made = await in_store(conversations.begin, chosen, title, request.user.pk)
            try:
                await runs.start(made, request.user, text)
            except StoreError as refused:
                messages.error(request, f"It did not start. {refused}")
            return redirect("conversation", conversation_id=made.pk)
    places = [(place, await in_store(wiring.player, place)) for place in mine]
    context = {
        "places": places,
        "text": text,
        "chosen": chosen,
        "problem": problem,
        "script": any(player.is_script for _, player in places),
    }
    status = 422 if problem else 200
    return await in_store(render, request, "conversations/new.html", context, status=status)


@require_POST
@access.conversation(Role.RESPONDER)
async def ask(request: Request, conversation: Conversation) -> HttpResponse:
    """Start a turn."""
    text = request.POST.get("text", "").strip()
    if not text:
        messages.error(request, "Say something first.")
    else:
        try:
            await runs.start(conversation, request.user, text)
        except StoreError as problem:
            messages.error(request, str(problem))
            return await in_store(_detail, request, conversation, text)
    return _to_foot(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def stop(request: Request, conversation: Conversation) -> HttpResponse:
    """Stop the run of a conversation; its open questions end as cancelled."""
    by = Decider("person", request.user.display_name, request.user.pk)
    if not await runs.stop(conversation.pk, by):
        messages.info(request, "Nothing was running.")
    return _to_foot(conversation)


def _to_foot(conversation: Conversation) -> HttpResponse:
    response = redirect("conversation", conversation_id=conversation.pk)
    response["Location"] += "#foot"
    return response
