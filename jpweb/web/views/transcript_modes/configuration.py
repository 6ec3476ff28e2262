"""The configuration of a conversation: model, prompt and tools as of each change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.runtime import configuration, conversation_config
from jpweb.runtime.conversation_config import ConfigStep
from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import attachments
from jpweb.store.ledger.entries import Actor
from jpweb.store.workspace_config.trust import TrustState
from jpweb.web import access, converters, display_text, notice_text
from jpweb.web.forms import trust_form
from jpweb.web.forms.trust_form import TrustForm
from jpweb.web.http import require_POST
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.runtime.configuration import ToolOffer, TrustStatus
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@access.conversation(Role.READER)
def show_configuration(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the configuration from the change at position ``from`` on; without it, the latest."""
    history = conversation_config.read_config_history(conversation)
    position = converters.parse_number(request.GET.get("from"))
    is_beginning = request.GET.get("from") == "start"
    shown_step = next(
        (
            step
            for step in history.steps
            if (step.position is None if is_beginning else step.position == position)
        ),
        history.steps[-1],
    )
    loaded_config = shown_step.config.configuration
    context = {
        "conversation": conversation,
        "history": history,
        "steps": [_make_step_row(step, shown_step) for step in reversed(history.steps)],
        "is_latest": shown_step is history.steps[-1],
        "is_read_only": bool(attachments.get_turn_obstacle(conversation)),
        "problem": shown_step.config.problem,
        "model": configuration.escape_invisible(conversation_config.name_model(loaded_config)),
        "parameters": _list_parameters(shown_step),
        "tool_choice": configuration.escape_invisible(loaded_config.assistant.tool_choice),
        "prompt_texts": conversation_config.list_prompt_texts(conversation, history, shown_step),
        "tools": [_make_tool_row(offer, shown_step) for offer in shown_step.config.offers],
        "offered_count": len(shown_step.config.tools),
        "is_owner": access.has_request_role(request, conversation.workspace_id, Role.OWNER),
        "trust_url": reverse("conversation-trust", args=[conversation.pk]),
        "withdraw_url": reverse("conversation-trust", args=[conversation.pk]),
        "review_groups": trust_form.group_statuses(
            shown_step.config.trust_statuses, TrustState.NEW, TrustState.CHANGED
        ),
        "trusted_groups": trust_form.group_statuses(
            [status for status in shown_step.config.trust_statuses if _is_granted_here(status)],
            TrustState.TRUSTED,
        ),
    }
    return render(request, "transcript_modes/configuration.html", context)


@require_POST
@access.conversation(Role.OWNER)
def change_trust(request: Request, conversation: Conversation) -> HttpResponse:
    """Trust the items of the next turn, or withdraw that, in this conversation alone."""
    form = TrustForm(request.POST)
    is_withdrawn = request.POST.get("action") == "withdraw"
    try:
        if is_withdrawn:
            actor = Actor.from_person(request.user)
            conversation_config.withdraw_trust(conversation, form.list_entries(), actor)
        else:
            config = conversation_config.load_conversation_config(conversation)
            requests = trust_form.read_requests(form.list_values(), config.trust_statuses)
            conversation_config.grant_trust(conversation, requests, request.user)
    except StoreError as error:
        messages.error(request, str(error))
    else:
        names = [name for _, name in form.list_entries()]
        event = "trust withdrawn" if is_withdrawn else "trust given"
        security_log.log_event(event, request, conversation=conversation.pk, items=names)
        text = notice_text.TRUST_WITHDRAWN if is_withdrawn else notice_text.TRUST_GIVEN_THERE
        messages.success(request, text.format(names=trust_form.join_names(names)))
    return redirect("conversation-configuration", conversation_id=conversation.pk)


def _is_granted_here(status: TrustStatus) -> bool:
    return status.grant is not None and status.grant.conversation_id is not None


def _make_step_row(step: ConfigStep, shown_step: ConfigStep) -> dict[str, Any]:
    return {
        "step": step,
        "turn": None if step.turn_number is None else step.turn_number + 1,
        "model": configuration.escape_invisible(
            conversation_config.name_model(step.config.configuration)
        ),
        "differences": [configuration.escape_invisible(line) for line in step.differences],
        "query": "start" if step.position is None else step.position,
        "is_shown": step is shown_step,
    }


def _list_parameters(step: ConfigStep) -> list[tuple[str, str]]:
    """Return the parameters of the model; other keys by their names alone, they may be secrets."""
    parameters = step.config.configuration.assistant.model.parameters
    return [
        (
            configuration.escape_invisible(name),
            configuration.escape_invisible(json.dumps(value, ensure_ascii=False))
            if name in conversation_config.SHOWN_PARAMETERS
            else "(set, not shown)",
        )
        for name, value in parameters.items()
        if value not in (None, {}, [])
    ]


def _make_tool_row(offer: ToolOffer, step: ConfigStep) -> dict[str, Any]:
    tool = offer.tool
    first_line = tool.model_description.strip().partition("\n")[0]
    return {
        "name": configuration.escape_invisible(tool.name),
        "description": configuration.escape_invisible(first_line),
        "is_offered": offer.is_offered,
        "reason": display_text.UNAVAILABLE_LABELS.get(offer.availability.name, ""),
        "approval": configuration.describe_approval(tool, step.config.configuration),
        "source": configuration.escape_invisible(configuration.format_tool_source(tool)),
    }
