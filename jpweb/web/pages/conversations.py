"""One conversation: a window of it, what is in a turn, how far it was read; and asking."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from jpweb.runtime import exports, runs, showing, wiring
from jpweb.runtime.crossing import in_store
from jpweb.store import accounts, conversations, inquiries, prompts
from jpweb.store.browsing import readings, turns, windows
from jpweb.store.errors import StoreError, UnknownEvent
from jpweb.store.inquiries import Decider
from jpweb.store.terms import Role
from jpweb.web import access, changes, kinds, numbers, transcript, unchanged
from jpweb.web.security.downloads import send_file
from jpweb.web.transcript import Choice

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Run
    from jpweb.web.http import Request

#: Characters of the first words that become the title.
TITLE = 60


@access.conversation(Role.READER)
def detail(request: Request, conversation: Conversation) -> HttpResponse:
    """Show a window of a conversation, as the address says; to htmx that window alone."""
    choice = Choice.read(request.GET.dict())
    if request.htmx and (choice.after is not None or choice.before is not None):
        return unchanged.tagged(request, _more(request, conversation, choice))
    return unchanged.tagged(request, _detail(request, conversation, choice))


def _more(request: Request, conversation: Conversation, choice: Choice) -> HttpResponse:
    """Show the window before or after one that is on the page already."""
    read = readings.length(request.user.pk, conversation.pk)
    context = transcript.context(
        conversation, choice, transcript.part(conversation, choice, read=read)
    )
    if choice.before is None:
        context["earlier"] = ""
    else:
        context["later"] = ""
    return render(request, "conversations/_window.html", context)


def _detail(
    request: Request, conversation: Conversation, choice: Choice, said: str = ""
) -> HttpResponse:
    """Render a conversation; ``said`` is what somebody typed that could not be sent."""
    # The run first: a page that says it has ended then holds all that it said.
    person = request.user.pk
    context = changes.composer(person, conversation)
    waiting = prompts.queue(person, conversation.pk)
    every = prompts.waiting_count(person, conversation.pk, most=None)
    showing.delivered(person, [row.pk for row in waiting if not prompts.is_one(row)])
    read = readings.length(person, conversation.pk)
    run: Run | None = context["run"]
    live = bool(waiting or said) or (run is not None and run.unfinished)
    try:
        part = transcript.part(conversation, choice, read=read, live=live)
    except UnknownEvent as missing:
        raise Http404(str(missing)) from missing
    # What a script fetches nobody has seen yet; it tells when somebody has.
    opened = request.headers.get("Sec-Fetch-Dest", "document") == "document"
    if opened and not part.window.later and read != conversation.length:
        readings.read(person, conversation.pk, conversation.length)
    context |= transcript.context(conversation, choice, part) | transcript.aside(conversation, part)
    context |= kinds.context(conversation, choice)
    context |= {
        "states": inquiries.counts([conversation.pk]).get(conversation.pk, {}),
        "length": conversation.length,
        "news": conversation.length - read if read is not None and part.window.later else 0,
        "waiting_here": waiting,
        "waiting_all": every,
        "more": max(every - len(waiting), 0),
        "said": said,
        "formats": exports.FORMATS,
        "may_export": access.may(person, conversation.workspace_id, Role.AUDITOR),
    }
    return render(request, "conversations/detail.html", context, status=422 if said else 200)


@access.conversation(Role.READER)
def outline(request: Request, conversation: Conversation) -> HttpResponse:
    """Show what is in one turn: its tool calls and questions."""
    choice = Choice.read(request.GET.dict())
    heads, left = turns.heads(conversation.pk, choice.turn or 0)
    items = [shown.item for shown in windows.of(conversation.pk, heads).items]
    context = {
        "conversation": conversation,
        "here": reverse("conversation", args=[conversation.pk]),
        "items": items,
        "left": left,
        "number": choice.turn or 0,
    }
    name = "_inside" if request.htmx else "outline"
    return render(request, f"conversations/{name}.html", context)


@require_POST
@access.conversation(Role.READER)
def read(request: Request, conversation: Conversation) -> HttpResponse:
    """Note how far somebody has read: no further than there is."""
    length = numbers.read(request.POST.get("length"))
    if length is None:
        return HttpResponse("length must be a number of events, such as length=12.", status=400)
    readings.read(request.user.pk, conversation.pk, min(length, conversation.length))
    return HttpResponse(status=204)


@access.conversation(Role.AUDITOR)
async def export(
    request: Request, conversation: Conversation, format_name: str
) -> HttpResponseBase:
    """Download a conversation."""
    chosen = exports.FORMATS.get(format_name)
    if chosen is None:
        raise Http404
    name = f"jp-c{conversation.jp_id}{chosen.suffix}"
    may_read = partial(access.may, request.user.pk, conversation.workspace_id, Role.AUDITOR)
    pieces = chosen.pieces(conversation)
    return await send_file(request, pieces, name, chosen.content_type, may_read)


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
            problem = "Enter a message."
        elif (hindrance := (await in_store(wiring.player, chosen)).problem) != "":
            problem = f"Can't start a conversation in {chosen.name}. {hindrance}"
        else:
            title = text.splitlines()[0][:TITLE].replace("\x00", "")
            made = await in_store(conversations.begin, chosen, title, request.user.pk)
            try:
                await runs.start(made, request.user, text)
            except StoreError as refused:
                messages.error(request, f"The turn didn't start. {refused}")
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
        messages.error(request, "Enter a message.")
    else:
        try:
            await runs.start(conversation, request.user, text)
        except StoreError as problem:
            messages.error(request, str(problem))
            return await in_store(_detail, request, conversation, Choice(), text)
    return _to_foot(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def stop(request: Request, conversation: Conversation) -> HttpResponse:
    """Stop the run of a conversation; its open questions end as cancelled."""
    by = Decider("person", request.user.display_name, request.user.pk)
    if not await runs.stop(conversation.pk, by):
        messages.info(request, "No turn is running.")
    return _to_foot(conversation)


def _to_foot(conversation: Conversation) -> HttpResponse:
    response = redirect("conversation", conversation_id=conversation.pk)
    response["Location"] += "?at=end#foot"
    return response
