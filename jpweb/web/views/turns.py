"""Retry a failed turn, and restart a running turn's tool calls."""

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
from jpweb.web import access, notice_text, transcript

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
    return redirect(transcript.make_composer_url(conversation.pk))


@require_POST
@access.conversation(Role.RESPONDER)
async def restart_tool_calls(request: Request, conversation: Conversation) -> HttpResponse:
    """Cancel the running tool calls, and run them again."""
    decider = Decider.from_person(request.user)
    if not await runs.interrupt_run(conversation.pk, decider, "restart"):
        messages.info(request, notice_text.NO_CALLS_TO_RERUN)
    return redirect(transcript.make_composer_url(conversation.pk))
