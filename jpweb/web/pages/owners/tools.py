"""The tools of a workspace and what they run. Everybody here reads; owners decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import salted_hmac
from django.views.decorators.http import require_POST

from jpweb.runtime import configuration
from jpweb.runtime.configuration import Current, Offer, Thing, visible
from jpweb.store.errors import StoreError
from jpweb.store.owners import overrides
from jpweb.store.owners.trust import Standing
from jpweb.store.terms import Role
from jpweb.web import access, words
from jpweb.web.security import trail

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@access.workspace(Role.READER)
def index(request: Request, workspace: Workspace) -> HttpResponse:
    return _page(request, workspace)


@require_POST
@access.workspace(Role.OWNER)
def trust(request: Request, workspace: Workspace) -> HttpResponse:
    """Trust what the form showed, and nothing that has changed since."""
    now = {_value(thing): thing.wanted.fingerprint for thing in _things(workspace)}
    values = request.POST.getlist("thing")
    things = [(*_thing(value), now.get(value, "")) for value in values]
    try:
        configuration.give(workspace, things, request.user)
        _record(request, workspace, "trust given", [name for _, name, _ in things])
        messages.success(request, f"Trusted: {_names(name for _, name, _ in things)}.")
    except StoreError as problem:
        messages.error(request, str(problem))
    return redirect("tools", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def withdraw(request: Request, workspace: Workspace) -> HttpResponse:
    things = [_thing(value) for value in request.POST.getlist("thing")]
    configuration.withdraw(workspace, things)
    _record(request, workspace, "trust withdrawn", [name for _, name in things])
    messages.success(request, f"No longer trusted: {_names(name for _, name in things)}.")
    return redirect("tools", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def switch(request: Request, workspace: Workspace) -> HttpResponse:
    """Switch a tool, or every tool that may be switched with all others."""
    name, on = request.POST.get("tool"), request.POST.get("to") == "on"
    state = "enabled" if on else "disabled"
    try:
        if name is None:
            left = configuration.switch_all(workspace, on)
            stay = f" Not changed, locked or by name only: {_names(left)}." if left else ""
            messages.success(request, f"All tools are now {state}.{stay}")
        else:
            configuration.switch_tool(workspace, name, on)
            messages.success(request, f"{visible(name)} is now {state}.")
    except StoreError as problem:
        messages.error(request, str(problem))
    return redirect("tools", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def override(request: Request, workspace: Workspace) -> HttpResponse:
    """Keep the overrides; where they cannot be, show them as typed beside the reason."""
    typed = request.POST.get("overrides", "")
    try:
        configuration.save_overrides(workspace, typed, request.POST.get("seen", ""))
    except StoreError as problem:
        workspace.refresh_from_db()
        return _page(request, workspace, typed=typed, refusal=str(problem))
    messages.success(request, "Saved the overrides.")
    return redirect("tools", workspace_id=workspace.pk)


@dataclass(frozen=True, slots=True)
class _Group:
    """Things that would run the same, so that one look is enough; and what each may do."""

    things: Sequence[Thing]

    @property
    def first(self) -> Thing:
        return self.things[0]

    @property
    def title(self) -> str:
        if not self.first.wanted.runs:
            return "Approval settings of a built-in tool"
        return words.TRUSTED[self.first.wanted.kind.value]

    @property
    def names(self) -> str:
        return _names(thing.wanted.name for thing in self.things)

    @property
    def values(self) -> list[str]:
        return [_value(thing) for thing in self.things]

    @property
    def gates(self) -> list[tuple[str, tuple[str, ...]]]:
        """What the tools may do, those together of which the same is said."""
        tools: dict[tuple[str, ...], list[str]] = {}
        if self.first.standing is Standing.CHANGED and self.first.gates_changed:
            return []  # the difference tells them
        for thing in self.things:
            for name, lines in thing.wanted.gates.items():
                tools.setdefault(lines, []).append(name)
        return [(_names(names), lines) for lines, names in tools.items()]


def _page(
    request: Request, workspace: Workspace, *, typed: str | None = None, refusal: str = ""
) -> HttpResponse:
    now = configuration.current(workspace)
    model = now.configuration.assistant.model
    context = {
        "workspace": workspace,
        "problem": now.problem,
        "owner": access.may(request.user.pk, workspace.pk, Role.OWNER),
        "assistant": visible(now.configuration.assistant.name or ""),
        "model": visible(f"{model.provider}/{model.name}") if model.provider else "",
        "provider_problem": now.provider_problem(model.provider),
        "offered": len(now.tools),
        "apart": [
            visible(offer.tool.name)
            for offer in now.offers
            if not configuration.switches_with_all(offer.tool)
        ],
        "rows": [_row(offer, now) for offer in now.offers],
        "waiting": _groups(now.things, Standing.NEW, Standing.CHANGED),
        "trusted": _groups(now.things, Standing.TRUSTED),
        "vendors": configuration.vendors(now),
        "servers": [
            (visible(name), words.STANDINGS[now.server(name).value])
            for name in now.configuration.servers
        ],
        "notes": now.notes,
        "overrides": workspace.overrides if typed is None else typed,
        "saved": workspace.overrides if typed is not None else "",
        "seen": overrides.digest(workspace.overrides),
        "refusal": refusal,
    }
    return render(request, "tools/index.html", context, status=422 if refusal else 200)


def _groups(things: Iterable[Thing], *standings: Standing) -> list[_Group]:
    """Return what stands so: together what runs the same, or has changed in the same way."""
    groups: dict[tuple[str, ...], list[Thing]] = {}
    for thing in things:
        if thing.standing in standings:
            change = [f"{line.change} {line.text}" for line in thing.difference]
            key = (thing.wanted.kind.value, thing.standing.value, thing.wanted.runs, *change)
            groups.setdefault(key, []).append(thing)
    return [_Group(each) for each in groups.values()]


def _row(offer: Offer, now: Current) -> Mapping[str, Any]:
    """Return what a tool's row shows."""
    tool = offer.tool
    return {
        "tool": tool,
        "told": visible(tool.told.strip().partition("\n")[0]),
        "source": visible(configuration.source_words(tool)),
        "offered": offer.offered,
        "on": tool.enable.state,
        "why": words.UNOFFERED.get(offer.why.name, ""),
        "may_switch": not now.problem and configuration.may_switch(tool),
        "questions": [
            {
                "id": visible(name),
                "target": question.target.value,
                "label": visible(question.prompt_label or ""),
                "answer": question.answer is not None,
                "exclusive": question.exclusive,
            }
            for name, question in tool.questions.items()
        ],
    }


def _things(workspace: Workspace) -> Sequence[Thing]:
    return configuration.current(workspace).things


def _value(thing: Thing) -> str:
    """Return what a form remembers of a thing; no guess at a secret can be tried on it."""
    wanted = thing.wanted
    seen = salted_hmac("jpweb.tools.trust", wanted.fingerprint, algorithm="sha256").hexdigest()
    return f"{seen} {wanted.kind.value} {wanted.name}"


def _thing(value: str) -> tuple[str, str]:
    """Return kind and name as a form sent them."""
    kind, _, name = value.partition(" ")[2].partition(" ")
    return kind, name


def _record(request: Request, workspace: Workspace, event: str, things: list[str]) -> None:
    if things:
        trail.record(event, request, workspace=workspace.pk, things=things)


def _names(names: Iterable[str]) -> str:
    return ", ".join(visible(name) for name in names) or "nothing"
