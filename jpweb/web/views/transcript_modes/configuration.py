"""The configuration of a conversation: model, prompt and tools as of each change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render

from jpweb.runtime import configuration, conversation_config
from jpweb.runtime.conversation_config import ConfigStep
from jpweb.store.choices import Role
from jpweb.store.jp_files import attachments
from jpweb.web import access, converters, display_text

if TYPE_CHECKING:
    from jpweb.runtime.configuration import ToolOffer
    from jpweb.store.models import Conversation
    from jpweb.web.http import Request


@access.conversation(Role.READER)
def show_configuration(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the configuration from the change at position ``from`` on; without it, the latest."""
    history = conversation_config.read_config_history(conversation)
    position = converters.parse_number(request.GET.get("from"))
    is_beginning = request.GET.get("from") == "start"
    shown = next(
        (
            step
            for step in history.steps
            if (step.position is None if is_beginning else step.position == position)
        ),
        history.steps[-1],
    )
    loaded = shown.config.configuration
    context = {
        "conversation": conversation,
        "history": history,
        "steps": [_make_step_row(step, shown) for step in reversed(history.steps)],
        "is_latest": shown is history.steps[-1],
        "is_read_only": bool(attachments.get_turn_obstacle(conversation)),
        "problem": shown.config.problem,
        "model": configuration.escape_invisible(conversation_config.name_model(loaded)),
        "parameters": _list_parameters(shown),
        "tool_choice": configuration.escape_invisible(loaded.assistant.tool_choice),
        "prompt_texts": conversation_config.list_prompt_texts(conversation, history, shown),
        "tools": [_make_tool_row(offer) for offer in shown.config.offers],
        "offered_count": len(shown.config.tools),
    }
    return render(request, "transcript_modes/configuration.html", context)


def _make_step_row(step: ConfigStep, shown: ConfigStep) -> dict[str, Any]:
    return {
        "step": step,
        "turn": None if step.turn_number is None else step.turn_number + 1,
        "model": configuration.escape_invisible(
            conversation_config.name_model(step.config.configuration)
        ),
        "differences": [configuration.escape_invisible(line) for line in step.differences],
        "query": "start" if step.position is None else step.position,
        "is_shown": step is shown,
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


def _make_tool_row(offer: ToolOffer) -> dict[str, Any]:
    tool = offer.tool
    first_line = tool.model_description.strip().partition("\n")[0]
    return {
        "name": configuration.escape_invisible(tool.name),
        "description": configuration.escape_invisible(first_line),
        "is_offered": offer.is_offered,
        "reason": display_text.UNAVAILABLE_LABELS.get(offer.availability.name, ""),
        "run": tool.run.value,
        "result": tool.result.value,
        "source": configuration.escape_invisible(configuration.format_tool_source(tool)),
    }
