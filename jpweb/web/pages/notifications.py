"""Notifications: where a person wants to be told of what waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST

from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties import carrier, notify
from jpweb.store import accounts
from jpweb.store.telling import addresses
from jpweb.store.telling.addresses import NotTaken, UnknownAddress
from jpweb.store.terms import Role
from jpweb.web import access, numbers

if TYPE_CHECKING:
    from django.http import QueryDict

    from jpweb.store.models import Address
    from jpweb.web.http import Request

#: Seconds of delay that the form offers.
USUAL = 60
EXAMPLES = (
    ("Mail", "mailtos://ada:password@example.org?to=ada@example.org"),
    ("Slack", "https://hooks.slack.com/services/T0000000/B0000000/XXXXXXXXXXXX"),
    ("ntfy", "ntfy://a-hard-to-guess-topic"),
)


class Refused(Exception):
    """What the form says cannot be kept; the message is for people."""


@access.signed_in
@never_cache
def index(request: Request) -> HttpResponse:
    return _page(request, {"delay": str(USUAL)})


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("url")
@sensitive_variables("url", "typed")
def add(request: Request) -> HttpResponse:
    """Keep an address; where it cannot be, show it as typed beside the reason."""
    typed = {name: request.POST.get(name, "") for name in ("url", "delay", "workspace")}
    url = typed["url"].strip()
    try:
        delay, workspace_id = _delay(request.POST), _workspace(request.POST)
        carrier.check(url)
        addresses.add(request.user.pk, workspace_id, url, delay)
    except (Refused, carrier.BadAddress, NotTaken) as problem:
        return _page(request, typed, str(problem))
    messages.success(request, f"Added {carrier.shown(url)}. Send a test to check it.")
    return redirect("notifications")


@require_POST
@access.signed_in
async def test(request: Request) -> HttpResponse:
    """Send a test to an address of one's own."""
    try:
        address = await in_store(addresses.own, request.user.pk, _key(request.POST))
    except UnknownAddress as problem:
        return await in_store(_said, request, str(problem))
    problem_text = await notify.test(address)
    name = await in_store(carrier.shown, address.url)
    if problem_text:
        return await in_store(_said, request, f"The test to {name} failed. {problem_text}")
    messages.success(request, f"Sent a test to {name}.")
    return redirect("notifications")


@require_POST
@access.signed_in
def remove(request: Request) -> HttpResponse:
    try:
        addresses.remove(request.user.pk, _key(request.POST))
    except UnknownAddress as problem:
        return _said(request, str(problem))
    messages.success(request, "Removed the channel.")
    return redirect("notifications")


def _page(request: Request, typed: dict[str, str], problem: str = "") -> HttpResponse:
    context = {
        "addresses": [_row(each) for each in addresses.of(request.user.pk)],
        "workspaces": accounts.workspaces(request.user.pk, Role.RESPONDER),
        "typed": typed,
        "problem": problem,
        "longest": addresses.LONGEST,
        "most": notify.QUESTION,
        "examples": EXAMPLES,
        "schemas": settings.NOTIFY_SCHEMAS,
    }
    return render(request, "notifications/index.html", context, status=422 if problem else 200)


def _row(address: Address) -> dict[str, Any]:
    return {
        "key": address.pk,
        "shown": carrier.shown(address.url),
        "usable": carrier.usable(address.url),
        "workspace": address.workspace,
        "delay": _span(address.delay),
        "problem": address.problem,
        "silent": not addresses.may_answer(address.person_id, address.workspace_id),
    }


def _said(request: Request, problem: str) -> HttpResponse:
    messages.error(request, problem)
    return redirect("notifications")


def _delay(form: QueryDict) -> int:
    seconds = numbers.read(form.get("delay", "").strip(), addresses.LONGEST)
    if seconds is None:
        most = addresses.LONGEST
        raise Refused(f"Enter a whole number of seconds from 0 to {most} (one day).")
    return seconds


def _workspace(form: QueryDict) -> int:
    return _number(form, "workspace")


def _key(form: QueryDict) -> int:
    return _number(form, "address")


def _number(form: QueryDict, name: str) -> int:
    """Return a key as a form sent it; 0, which nothing has, where it is none."""
    return numbers.read(form.get(name), numbers.KEY) or 0


def _span(seconds: int) -> str:
    """Say a delay in the largest unit that says it whole."""
    if not seconds:
        return "immediately"
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
    number, unit = next((seconds // size, unit) for size, unit in units if seconds % size == 0)
    return f"after {number} {unit}{'' if number == 1 else 's'}"
