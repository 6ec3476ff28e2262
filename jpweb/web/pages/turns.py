"""A turn that is under way or has failed: say something to it, or try it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jpweb.runtime import runs
from jpweb.store.errors import StoreError
from jpweb.store.inquiries import Decider
from jpweb.store.terms import Role
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@require_POST
@access.conversation(Role.RESPONDER)
async def retry(request: Request, conversation: Conversation) -> HttpResponse:
    """Play a turn that failed again, from where it broke."""
    try:
        await runs.retry(conversation, request.user)
    except StoreError as refused:
        messages.error(request, str(refused))
    return _to_foot(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def restart(request: Request, conversation: Conversation) -> HttpResponse:
    """Give up the tool calls that run, and run them again."""
    if not await runs.interrupt(conversation.pk, _me(request), "restart"):
        messages.info(request, "No tool calls are running; nothing was rerun.")
    return _to_foot(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def respond(request: Request, conversation: Conversation) -> HttpResponse:
    """Give up what runs, and tell the model this instead, in the same turn."""
    text = request.POST.get("text", "").strip()
    if not text:
        messages.error(request, "Enter a message.")
    elif not await runs.interrupt(conversation.pk, _me(request), "respond", text):
        messages.info(request, "No turn is running; nothing was sent.")
    return _to_foot(conversation)


def _me(request: Request) -> Decider:
    return Decider("person", request.user.display_name, request.user.pk)


def _to_foot(conversation: Conversation) -> HttpResponse:
    response = redirect("conversation", conversation_id=conversation.pk)
    response["Location"] += "#foot"
    return response
