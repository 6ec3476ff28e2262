"""Redaction of an event: the form, a preview of the replacements, and their application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.rendering import payloads
from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.errors import UnknownAnchor
from jpweb.store.redaction import application, kept_texts, plans
from jpweb.store.redaction.plans import NotRedactable
from jpweb.store.suspected_secrets import suggestions
from jpweb.web import access, converters, notice_text
from jpweb.web.forms.redactions import STRINGS_IN_CONVERSATION, WHOLE_EVENT, RedactionForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jpweb.store.models import Conversation
    from jpweb.store.redaction.plans import Preview
    from jpweb.web.http import Request

_TEMPLATE = "redaction/index.html"


@access.conversation(Role.AUDITOR)
def show_redaction(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Show the form; ``suggestion`` in the address fills in the marker of a suspected secret."""
    form = RedactionForm(initial={"scope": WHOLE_EVENT})
    key = converters.parse_key(request.GET.get("suggestion", ""))
    if key and (suggestion := suggestions.find_suspected_secret(conversation.pk, key)):
        form.initial = {
            "scope": STRINGS_IN_CONVERSATION,
            "strings": suggestion.marker,
            "reason": notice_text.SUSPICION_REASON.format(kind=suggestion.kind),
        }
    context = _make_context(request, conversation, anchor, form)
    return render(request, _TEMPLATE, context)


@require_POST
@access.conversation(Role.AUDITOR)
@sensitive_post_parameters("strings")
def preview_redaction(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Show the preview of a redaction."""
    form = RedactionForm(request.POST)
    context = _make_context(request, conversation, anchor, form)
    if form.is_valid():
        try:
            context["preview"] = application.preview_redaction(
                conversation, form.make_request(anchor), request.user
            )
        except NotRedactable as problem:
            form.add_error(None, str(problem))
    return render(request, _TEMPLATE, context, status=422 if form.errors else 200)


@require_POST
@access.conversation(Role.AUDITOR)
@sensitive_post_parameters("strings")
async def redact_event(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    """Replace the content, and tell the open pages of the conversation."""
    response = await run_in_db_thread(_redact, request, conversation, anchor)
    await publisher.publish_conversation_changed(conversation.pk)
    await publisher.publish_questions_changed(conversation.workspace_id)
    return response


def _redact(request: Request, conversation: Conversation, anchor: str) -> HttpResponse:
    form = RedactionForm(request.POST)
    context = _make_context(request, conversation, anchor, form)
    if not form.is_valid():
        return render(request, _TEMPLATE, context, status=422)
    try:
        preview = application.redact(conversation, form.make_request(anchor), request.user)
    except NotRedactable as problem:
        form.add_error(None, str(problem))
        return render(request, _TEMPLATE, context, status=422)
    text = notice_text.EVENT_REDACTED if len(preview.events) == 1 else notice_text.EVENTS_REDACTED
    messages.success(request, text.format(count=len(preview.events)))
    for kept_text in _describe_kept(preview):
        messages.warning(request, kept_text)
    return redirect("event-redact", conversation.pk, anchor)


def _describe_kept(preview: Preview) -> Iterator[str]:
    """Yield sentences about the content that the redaction kept, in the words of its preview."""
    positions = [str(event.position) for event in preview.kept_events]
    if positions:
        is_one = len(positions) == 1
        text = notice_text.EVENT_KEEPS_STRINGS if is_one else notice_text.EVENTS_KEEP_STRINGS
        yield text.format(positions=kept_texts.join_first(positions))
    if preview.kept_copies:
        places = [place.replace("_", " ") for place in preview.kept_copies]
        yield notice_text.COPIES_KEEP_STRINGS.format(places=", ".join(places))


def _make_context(
    request: Request, conversation: Conversation, anchor: str, form: RedactionForm
) -> dict[str, Any]:
    try:
        position, element = journal.find_element(conversation.pk, anchor)
    except UnknownAnchor as error:
        raise Http404(str(error)) from error
    payload = payloads.get_payloads(element)["raw"]
    return {
        "conversation": conversation,
        "anchor": anchor,
        "position": position,
        "element": element,
        "payload": payload,
        "excerpt": payload.render_excerpt(),
        "obstacle": plans.describe_obstacle(conversation.pk),
        "may_stop": access.has_request_role(request, conversation.workspace_id, Role.RESPONDER),
        "form": form,
        "redactions": application.list_redactions(conversation.pk, anchor),
    }
