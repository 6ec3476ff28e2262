"""Retry a failed turn; restart a running turn's tool calls, or interrupt it with a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jpweb.runtime import runs
from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.inquiries import Decider
from jpweb.web import access, notice_text

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@require_POST
@access.conversation(Role.RESPONDER)
async def retry_turn(request: Request, conversation: Conversation) -> HttpResponse:
    """Resume a failed turn at the point of failure."""
    try:
        await runs.retry_turn(conversation, request.user)
    except StoreError as error:
        messages.error(request, str(error))
    return _redirect_to_end(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def restart_tool_calls(request: Request, conversation: Conversation) -> HttpResponse:
    """Cancel the running tool calls, and run them again."""
    if not await runs.interrupt_run(conversation.pk, _make_decider(request), "restart"):
        messages.info(request, notice_text.NO_CALLS_TO_RERUN)
    return _redirect_to_end(conversation)


@require_POST
@access.conversation(Role.RESPONDER)
async def respond_to_turn(request: Request, conversation: Conversation) -> HttpResponse:
    """Cancel the running calls, and send the model this text in the same turn."""
    text = request.POST.get("text", "").strip()
    if not text:
        messages.error(request, notice_text.MESSAGE_REQUIRED)
    elif not await runs.interrupt_run(conversation.pk, _make_decider(request), "respond", text):
        messages.info(request, notice_text.NO_TURN_TO_INTERRUPT)
    return _redirect_to_end(conversation)


def _make_decider(request: Request) -> Decider:
    return Decider("person", request.user.display_name, request.user.pk)


def _redirect_to_end(conversation: Conversation) -> HttpResponse:
    response = redirect("conversation", conversation_id=conversation.pk)
    response["Location"] += "#composer"
    return response
