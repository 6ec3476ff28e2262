"""Notification channels of a person: destinations, and browsers with Web Push."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.notifications import apprise_sender, push_sender, short_texts
from jpweb.runtime.periodic import send_notifications
from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.notifications import (
    deliveries,
    destinations,
    due_mentions,
    push_subscriptions,
)
from jpweb.store.notifications.destinations import DestinationRefused, UnknownDestination
from jpweb.store.notifications.push_subscriptions import SubscriptionRefused, UnknownSubscription
from jpweb.store.people import sessions
from jpweb.web import access, converters, display_text, notice_text
from jpweb.web.forms.destinations import DestinationForm
from jpweb.web.forms.fields import RowKeyForm, find_problem
from jpweb.web.forms.push_subscriptions import PushSubscriptionForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.models import NotificationDestination, Workspace
    from jpweb.web.http import Request

#: Notifications of which a browser asks at once whether they wait.
MAX_TAGS = 50
URL_EXAMPLES = (
    ("Mail", "mailtos://ada:password@example.org?to=ada@example.org"),
    ("Slack", "https://hooks.slack.com/services/T0000000/B0000000/XXXXXXXXXXXX"),
    ("ntfy", "ntfy://a-hard-to-guess-topic"),
)


@access.signed_in
@never_cache
def list_destinations(request: Request) -> HttpResponse:
    return _render_page(request, DestinationForm(_list_workspaces(request)))


@access.signed_in
@never_cache
def list_waiting(request: Request) -> JsonResponse:
    """Send which of the shown notifications still wait, by their tags."""
    tags = request.GET.getlist("tag")[:MAX_TAGS]
    keys = {kind: _read_keys(tags, kind) for kind in ("question", "approval", "mention")}
    waiting_keys = deliveries.list_waiting_keys(request.user.pk, keys["question"], keys["approval"])
    names = [f"question-{key}" for key in waiting_keys[0]] + [
        f"approval-{key}" for key in waiting_keys[1]
    ]
    unseen_keys = due_mentions.list_unseen(request.user.pk, keys["mention"])
    names += [f"mention-{key}" for key in unseen_keys]
    return JsonResponse({"waiting": names})


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("url")
@sensitive_variables()
def add_destination(request: Request) -> HttpResponse:
    """Save a destination; show the form again with the reason if it is invalid."""
    form = DestinationForm(_list_workspaces(request), request.POST)
    if not form.is_valid():
        return _render_page(request, form)
    url, workspace_id = form.cleaned_data["url"], form.cleaned_data["workspace"]
    try:
        destinations.add_destination(request.user.pk, workspace_id, url, form.cleaned_data["delay"])
    except DestinationRefused as error:
        form.add_error(None, str(error))
        return _render_page(request, form)
    channel = apprise_sender.redact_address(url)
    messages.success(request, notice_text.CHANNEL_ADDED.format(channel=channel))
    return redirect("notifications")


@require_POST
@access.signed_in
async def send_test(request: Request) -> HttpResponse:
    """Send a test notification to one of the person's destinations."""
    try:
        destination = await run_in_db_thread(
            destinations.get_destination,
            request.user.pk,
            RowKeyForm(request.POST, "address").read_key(),
        )
    except UnknownDestination as error:
        return await run_in_db_thread(_redirect_with_error, request, str(error))
    problem_text = await send_notifications.send_test(destination)
    name = await run_in_db_thread(apprise_sender.redact_address, destination.url)
    if problem_text:
        failure_text = notice_text.TEST_FAILED.format(channel=name, problem=problem_text)
        return await run_in_db_thread(_redirect_with_error, request, failure_text)
    messages.success(request, notice_text.TEST_SENT.format(channel=name))
    return redirect("notifications")


@require_POST
@access.signed_in
def remove_destination(request: Request) -> HttpResponse:
    try:
        destinations.remove_destination(
            request.user.pk, RowKeyForm(request.POST, "address").read_key()
        )
    except UnknownDestination as error:
        return _redirect_with_error(request, str(error))
    messages.success(request, notice_text.CHANNEL_REMOVED)
    return redirect("notifications")


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("endpoint", "public_key", "auth_secret")
@sensitive_variables()
def add_browser(request: Request) -> HttpResponse:
    """Save the subscription that the page's script requested of this browser."""
    form = PushSubscriptionForm(request.POST)
    if not form.is_valid():
        return _redirect_with_error(request, find_problem(form))
    try:
        push_subscriptions.save_subscription(
            sessions.hash_key(request.session.session_key or ""),
            endpoint=form.cleaned_data["endpoint"],
            public_key=form.cleaned_data["public_key"],
            auth_secret=form.cleaned_data["auth_secret"],
            delay=form.cleaned_data["browser_delay"],
        )
    except SubscriptionRefused as error:
        return _redirect_with_error(request, str(error))
    messages.success(request, notice_text.BROWSER_ADDED)
    return redirect("notifications")


@require_POST
@access.signed_in
def save_mentions(request: Request) -> HttpResponse:
    """Turn notifications of mentions on or off, in all channels and browsers of the person."""
    is_on = request.POST.get("mentions") == "1"
    accounts.set_notified_of_mentions(request.user.pk, is_on=is_on)
    messages.success(request, notice_text.MENTIONS_ON if is_on else notice_text.MENTIONS_OFF)
    return redirect("notifications")


@require_POST
@access.signed_in
async def send_browser_test(request: Request) -> HttpResponse:
    """Send a test notification to one of the person's browsers."""
    try:
        subscription = await run_in_db_thread(
            push_subscriptions.get_person_browser,
            request.user.pk,
            RowKeyForm(request.POST, "browser").read_key(),
        )
    except UnknownSubscription as error:
        return await run_in_db_thread(_redirect_with_error, request, str(error))
    name = subscription.browser or notice_text.BROWSER_UNKNOWN
    problem_text = await send_notifications.send_push_test(subscription)
    if problem_text:
        failure_text = notice_text.TEST_FAILED.format(channel=name, problem=problem_text)
        return await run_in_db_thread(_redirect_with_error, request, failure_text)
    messages.success(request, notice_text.TEST_SENT.format(channel=name))
    return redirect("notifications")


@require_POST
@access.signed_in
def remove_browser(request: Request) -> HttpResponse:
    try:
        push_subscriptions.remove_subscription(
            request.user.pk, RowKeyForm(request.POST, "browser").read_key()
        )
    except UnknownSubscription as error:
        return _redirect_with_error(request, str(error))
    messages.success(request, notice_text.BROWSER_REMOVED)
    return redirect("notifications")


def _read_keys(tags: list[str], kind: str) -> list[int]:
    """Return the keys of the rows of a kind that tags name."""
    names = [tag.removeprefix(f"{kind}-") for tag in tags if tag.startswith(f"{kind}-")]
    return [key for key in map(converters.parse_key, names) if key]


def _list_workspaces(request: Request) -> list[Workspace]:
    return access.list_workspaces(request, Role.RESPONDER)


def _render_page(request: Request, form: DestinationForm) -> HttpResponse:
    browsers = push_subscriptions.list_person_browsers(request.user.pk)
    current_key = sessions.hash_key(request.session.session_key or "")
    context = {
        "channels": [
            _make_row(destination)
            for destination in destinations.list_destinations(request.user.pk)
        ],
        "form": form,
        "browsers": browsers,
        "current_key": current_key,
        "can_add_browser": bool(access.list_workspaces(request, Role.READER)),
        "is_browser_on": any(
            browser.sign_in_id == current_key and not browser.is_gone for browser in browsers
        ),
        "push_key": push_sender.get_public_key(),
        "max_delay": destinations.MAX_DELAY_SECONDS,
        "max_question_chars": short_texts.MAX_QUESTION_CHARS,
        "examples": URL_EXAMPLES,
        "schemas": settings.NOTIFY_SCHEMAS,
    }
    return render(request, "notifications/index.html", context, status=422 if form.errors else 200)


def _make_row(destination: NotificationDestination) -> dict[str, Any]:
    return {
        "key": destination.pk,
        "address": apprise_sender.redact_address(destination.url),
        "is_usable": apprise_sender.is_usable(destination.url),
        "workspace": destination.workspace,
        "delay": display_text.describe_delay(destination.delay),
        "problem": destination.problem,
        "is_silent": not destinations.can_answer(destination.person_id, destination.workspace_id),
    }


def _redirect_with_error(request: Request, problem: str) -> HttpResponse:
    messages.error(request, problem)
    return redirect("notifications")
