"""Tools of a workspace and their trust: members read, owners decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolOffer, WorkspaceConfig, escape_invisible
from jpweb.runtime.provider_status import list_provider_statuses
from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.ledger.entries import Actor
from jpweb.store.workspace_config import overrides
from jpweb.store.workspace_config.trust import TrustState
from jpweb.web import access, display_text, notice_text
from jpweb.web.forms import trust_form
from jpweb.web.forms.settings_forms import OverridesForm
from jpweb.web.forms.trust_form import TrustForm
from jpweb.web.http import require_POST
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@access.workspace(Role.READER)
def show_tools(request: Request, workspace: Workspace) -> HttpResponse:
    return _render_page(request, workspace)


@require_POST
@access.workspace(Role.OWNER)
def give_trust(request: Request, workspace: Workspace) -> HttpResponse:
    """Trust the entries that the form showed, except those that have changed since."""
    statuses = configuration.load_workspace_config(workspace).trust_statuses
    requests = trust_form.read_requests(TrustForm(request.POST).list_values(), statuses)
    try:
        configuration.grant_trust(workspace, requests, request.user)
        _log_trust(request, workspace, "trust given", [name for _, name, _ in requests])
        names = trust_form.join_names(name for _, name, _ in requests)
        messages.success(request, notice_text.TRUST_GIVEN.format(names=names))
    except StoreError as error:
        messages.error(request, str(error))
    return redirect("tools", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def withdraw_trust(request: Request, workspace: Workspace) -> HttpResponse:
    requests = TrustForm(request.POST).list_entries()
    configuration.withdraw_trust(workspace, requests, Actor.from_person(request.user))
    _log_trust(request, workspace, "trust withdrawn", [name for _, name in requests])
    names = trust_form.join_names(name for _, name in requests)
    messages.success(request, notice_text.TRUST_WITHDRAWN.format(names=names))
    return redirect("tools", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def switch_tool(request: Request, workspace: Workspace) -> HttpResponse:
    """Switch one tool, or all tools that may be switched in bulk."""
    name, actor = request.POST.get("tool"), Actor.from_person(request.user)
    try:
        is_on = _parse_state(request)
        if name is None:
            skipped_names = configuration.switch_all_tools(workspace, is_on, actor)
            text = notice_text.ALL_TOOLS_ENABLED if is_on else notice_text.ALL_TOOLS_DISABLED
            if skipped_names:
                not_switched = notice_text.TOOLS_NOT_SWITCHED
                text += f" {not_switched.format(names=trust_form.join_names(skipped_names))}"
        else:
            configuration.switch_tool(workspace, name, is_on, actor)
            text = notice_text.TOOL_ENABLED if is_on else notice_text.TOOL_DISABLED
            text = text.format(name=escape_invisible(name))
        log_fields = {"tool": name or "all", "to": "on" if is_on else "off"}
        security_log.log_event("tool switched", request, workspace=workspace.pk, **log_fields)
        messages.success(request, text)
    except StoreError as error:
        messages.error(request, str(error))
    return redirect("tools", workspace_id=workspace.pk)


def _parse_state(request: Request) -> bool:
    """Tell whether a form switches on. Raises StoreError where it names no state."""
    state = request.POST.get("to")
    if state not in ("on", "off"):
        raise StoreError(notice_text.CHANGE_REQUIRED)
    return state == "on"


@require_POST
@access.workspace(Role.OWNER)
def save_overrides(request: Request, workspace: Workspace) -> HttpResponse:
    """Save the overrides; show them again with the reason if they are invalid."""
    form = OverridesForm(request.POST)
    form.full_clean()
    typed_text, overrides_hash = form.cleaned_data["overrides"], form.cleaned_data["overrides_hash"]
    try:
        actor = Actor.from_person(request.user)
        configuration.save_overrides(workspace, typed_text, overrides_hash, actor)
    except StoreError as error:
        workspace.refresh_from_db()
        return _render_page(request, workspace, typed_text=typed_text, refusal=str(error))
    security_log.log_event("overrides saved", request, workspace=workspace.pk)
    messages.success(request, notice_text.OVERRIDES_SAVED)
    return redirect("tools", workspace_id=workspace.pk)


def _render_page(
    request: Request, workspace: Workspace, *, typed_text: str | None = None, refusal: str = ""
) -> HttpResponse:
    workspace_config = configuration.load_workspace_config(workspace)
    model = workspace_config.configuration.assistant.model
    context = {
        "workspace": workspace,
        "problem": workspace_config.problem,
        "is_owner": access.has_request_role(request, workspace.pk, Role.OWNER),
        "assistant": escape_invisible(workspace_config.configuration.assistant.name or ""),
        "model": escape_invisible(f"{model.provider}/{model.name}") if model.provider else "",
        "provider_problem": workspace_config.find_provider_problem(model.provider),
        "offered_count": len(workspace_config.tools),
        "excluded_names": [
            escape_invisible(offer.tool.name)
            for offer in workspace_config.offers
            if not offer.tool.enable.is_switched_with_all
        ],
        "rows": [_make_row(offer, workspace_config) for offer in workspace_config.offers],
        "review_groups": trust_form.group_statuses(
            workspace_config.trust_statuses, TrustState.NEW, TrustState.CHANGED
        ),
        "trusted_groups": trust_form.group_statuses(
            workspace_config.trust_statuses, TrustState.TRUSTED
        ),
        "providers": list_provider_statuses(workspace_config),
        "servers": [
            (
                escape_invisible(name),
                display_text.TRUST_STATUS_LABELS[
                    workspace_config.get_server_trust_state(name).value
                ],
            )
            for name in workspace_config.configuration.servers
        ],
        "trust_url": reverse("tools-trust", args=[workspace.pk]),
        "withdraw_url": reverse("tools-withdraw", args=[workspace.pk]),
        "notes": workspace_config.notes,
        "sources": [escape_invisible(name) for name in dict.fromkeys(workspace_config.sources)],
        "overrides": workspace.overrides if typed_text is None else typed_text,
        "saved_overrides": workspace.overrides if typed_text is not None else "",
        "overrides_hash": overrides.hash_text(workspace.overrides),
        "refusal": refusal,
    }
    return render(request, "tools/index.html", context, status=422 if refusal else 200)


def _make_row(offer: ToolOffer, workspace_config: WorkspaceConfig) -> Mapping[str, Any]:
    """Return the template values of a tool's row."""
    tool = offer.tool
    approval = configuration.describe_approval(tool, workspace_config.configuration)
    return {
        "tool": tool,
        "approval": approval,
        "description": escape_invisible(tool.model_description.strip().partition("\n")[0]),
        "source": escape_invisible(configuration.format_tool_source(tool)),
        "is_offered": offer.is_offered,
        "is_enabled": tool.enable.state,
        "reason": display_text.UNAVAILABLE_LABELS.get(offer.availability.name, ""),
        "may_switch": not workspace_config.problem and configuration.can_switch_tool(tool),
        "questions": [
            {
                "id": escape_invisible(name),
                "text": approval.questions[name],
                "label": escape_invisible(question.prompt_label or ""),
            }
            for name, question in tool.questions.items()
        ],
    }


def _log_trust(request: Request, workspace: Workspace, event: str, names: list[str]) -> None:
    if names:
        security_log.log_event(event, request, workspace=workspace.pk, items=names)
