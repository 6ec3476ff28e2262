"""How long the questions of a workspace wait for somebody; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.store.running import expiring
from jpweb.store.terms import Role
from jpweb.web import access, numbers

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request

NEVER, OTHER = "never", "other"
PRESETS = (15 * 60, 3_600, 8 * 3_600, 86_400, 3 * 86_400)
#: What another time can be given in; the largest last.
UNITS = {60: "minute", 3_600: "hour", 86_400: "day"}


class Refused(Exception):
    """What the form says is no time; the message is for people."""


@access.workspace(Role.OWNER)
def index(request: Request, workspace: Workspace) -> HttpResponse:
    return render(request, "waiting/index.html", _context(workspace, _form(workspace)))


@require_POST
@access.workspace(Role.OWNER)
def choose(request: Request, workspace: Workspace) -> HttpResponse:
    """Decide how long questions that are asked from now on wait."""
    try:
        seconds = _seconds(request.POST)
    except Refused as problem:
        typed = {name: request.POST.get(name, "") for name in ("after", "number", "unit")}
        context = _context(workspace, typed) | {"problem": str(problem)}
        return render(request, "waiting/index.html", context, status=422)
    expiring.choose(workspace, seconds)
    outcome = "never expire" if seconds is None else f"expire after {_span(seconds)}"
    messages.success(request, f"New unanswered questions in {workspace.name} {outcome}.")
    return redirect("waiting", workspace_id=workspace.pk)


def _context(workspace: Workspace, chosen: dict[str, str]) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "presets": [(str(seconds), _span(seconds)) for seconds in PRESETS],
        "units": [(str(seconds), f"{name}s") for seconds, name in UNITS.items()],
        "chosen": chosen,
        "other": OTHER,
        "never": NEVER,
    }


def _form(workspace: Workspace) -> dict[str, str]:
    """Return the form as it says what counts now."""
    seconds = workspace.expires_after
    if seconds is None:
        return {"after": NEVER, "unit": "3600"}
    if seconds in PRESETS:
        return {"after": str(seconds), "unit": "3600"}
    unit = _unit(seconds)
    return {"after": OTHER, "number": str(-(-seconds // unit)), "unit": str(unit)}


def _seconds(form: QueryDict) -> int | None:
    """Return what was chosen, None for never. Raises Refused."""
    after = form.get("after", "")
    if after == NEVER:
        return None
    if after in map(str, PRESETS):
        return int(after)
    if after != OTHER:
        raise Refused("Choose when questions expire.")
    unit = {str(seconds): seconds for seconds in UNITS}.get(form.get("unit", ""))
    number = numbers.read(form.get("number", "").strip())
    if unit is None or number is None:
        raise Refused("Enter a whole number of minutes, hours or days.")
    if not 1 <= number * unit <= expiring.LONGEST:
        raise Refused("The custom time can be from 1 minute to 366 days.")
    return number * unit


def _unit(seconds: int) -> int:
    """Return the largest unit that says a time as a whole number."""
    return max((unit for unit in UNITS if seconds % unit == 0), default=min(UNITS))


def _span(seconds: int) -> str:
    unit = _unit(seconds)
    number = -(-seconds // unit)
    return f"{number} {UNITS[unit]}{'' if number == 1 else 's'}"
