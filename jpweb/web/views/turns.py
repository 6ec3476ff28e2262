"""Turns: start, stop and retry one, answer into it, and restart its tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from jpweb.runtime import runs
from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.inquiries import Decider
from jpweb.web import access, notice_text, transcript
from jpweb.web.forms import unsent_text
from jpweb.web.forms.conversation_forms import MessageForm
from jpweb.web.forms.fields import find_problem
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@require_POST
@access.conversation(Role.RESPONDER)
async def start_turn(request: Request, conversation: Conversation) -> HttpResponse:
    """Start a turn with the form's text."""
    form = MessageForm(request.POST)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return redirect(transcript.make_composer_url(conversation.pk))
    text = form.cleaned_data["text"]
    try:
        await runs.start_turn(conversation, request.user, text, requires_role=True)
    except StoreError as error:
        messages.error(request, str(error))
        return unsent_text.redirect_with_text(request, conversation, text)
    return redirect(transcript.make_composer_url(conversation.pk))


@require_POST
@access.conversation(Role.RESPONDER)
async def respond_to_turn(request: Request, conversation: Conversation) -> HttpResponse:
    """Cancel the running calls, and send the model this text in the same turn."""
    form, decider = MessageForm(request.POST), Decider.from_member(request.user)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return redirect(transcript.make_composer_url(conversation.pk))
    text = form.cleaned_data["text"]
    if not await runs.interrupt_run(conversation.pk, decider, "respond", text):
        messages.error(request, notice_text.NO_TURN_TO_INTERRUPT)
        return unsent_text.redirect_with_text(request, conversation, text)
    return redirect(transcript.make_composer_url(conversation.pk))


@require_POST
@access.conversation(Role.RESPONDER)
async def stop_run(request: Request, conversation: Conversation) -> HttpResponse:
    """Stop the run of a conversation; its open questions are cancelled."""
    if not await runs.stop_run(conversation.pk, Decider.from_member(request.user)):
        messages.info(request, notice_text.NO_TURN_RUNNING)
    return redirect(transcript.make_composer_url(conversation.pk))


@require_POST
@access.conversation(Role.RESPONDER)
async def retry_turn(request: Request, conversation: Conversation) -> HttpResponse:
    """Resume a failed turn at the point of failure."""
    try:
        await runs.retry_turn(conversation, request.user, requires_role=True)
    except StoreError as error:
        messages.error(request, str(error))
    return redirect(transcript.make_composer_url(conversation.pk))


@require_POST
@access.conversation(Role.RESPONDER)
async def restart_tool_calls(request: Request, conversation: Conversation) -> HttpResponse:
    """Cancel the running tool calls, and run them again."""
    decider = Decider.from_member(request.user)
    if not await runs.interrupt_run(conversation.pk, decider, "restart"):
        messages.info(request, notice_text.NO_CALLS_TO_RERUN)
    return redirect(transcript.make_composer_url(conversation.pk))
