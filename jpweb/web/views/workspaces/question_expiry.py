"""Question expiry of a workspace; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.store.choices import Role
from jpweb.store.maintenance import inquiry_expiry
from jpweb.web import access, converters

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request

NEVER_OPTION, OTHER_OPTION = "never", "other"
PRESET_SECONDS = (15 * 60, 3_600, 8 * 3_600, 86_400, 3 * 86_400)
#: Units of a custom time by their seconds, in ascending order.
UNIT_NAMES = {60: "minute", 3_600: "hour", 86_400: "day"}


class InvalidExpiry(Exception):
    """The form's time is invalid; the message is for people."""


@access.workspace(Role.OWNER)
def show_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    return render(
        request, "waiting/index.html", _build_context(workspace, _make_form_values(workspace))
    )


@require_POST
@access.workspace(Role.OWNER)
def choose_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    """Save the expiry of future questions."""
    try:
        seconds = _parse_seconds(request.POST)
    except InvalidExpiry as error:
        form_values = {name: request.POST.get(name, "") for name in ("after", "number", "unit")}
        context = _build_context(workspace, form_values) | {"problem": str(error)}
        return render(request, "waiting/index.html", context, status=422)
    inquiry_expiry.set_expiry(workspace, seconds)
    effect = "never expire" if seconds is None else f"expire after {_format_expiry(seconds)}"
    messages.success(request, f"New unanswered questions in {workspace.name} {effect}.")
    return redirect("waiting", workspace_id=workspace.pk)


def _build_context(workspace: Workspace, form_values: dict[str, str]) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "presets": [(str(seconds), _format_expiry(seconds)) for seconds in PRESET_SECONDS],
        "units": [(str(seconds), f"{name}s") for seconds, name in UNIT_NAMES.items()],
        "chosen": form_values,
        "other": OTHER_OPTION,
        "never": NEVER_OPTION,
    }


def _make_form_values(workspace: Workspace) -> dict[str, str]:
    """Return the form's values for the current setting."""
    seconds = workspace.expires_after
    if seconds is None:
        return {"after": NEVER_OPTION, "unit": "3600"}
    if seconds in PRESET_SECONDS:
        return {"after": str(seconds), "unit": "3600"}
    unit = _find_unit(seconds)
    return {"after": OTHER_OPTION, "number": str(-(-seconds // unit)), "unit": str(unit)}


def _parse_seconds(form: QueryDict) -> int | None:
    """Return the form's seconds, None for never. Raises InvalidExpiry."""
    after = form.get("after", "")
    if after == NEVER_OPTION:
        return None
    if after in map(str, PRESET_SECONDS):
        return int(after)
    if after != OTHER_OPTION:
        raise InvalidExpiry("Choose when questions expire.")
    unit = {str(seconds): seconds for seconds in UNIT_NAMES}.get(form.get("unit", ""))
    number = converters.parse_number(form.get("number", "").strip())
    if unit is None or number is None:
        raise InvalidExpiry("Enter a whole number of minutes, hours or days.")
    if not 1 <= number * unit <= inquiry_expiry.MAX_EXPIRY_SECONDS:
        raise InvalidExpiry("The custom time can be from 1 minute to 366 days.")
    return number * unit


def _find_unit(seconds: int) -> int:
    """Return the largest unit of which a time is a whole multiple."""
    return max((unit for unit in UNIT_NAMES if seconds % unit == 0), default=min(UNIT_NAMES))


def _format_expiry(seconds: int) -> str:
    unit = _find_unit(seconds)
    number = -(-seconds // unit)
    return f"{number} {UNIT_NAMES[unit]}{'' if number == 1 else 's'}"
