"""Who may open which page. Every view is wrapped by one of these rules.

Outsiders get 404, so that a page does not tell what exists; members whose role is too low get
403; people who are not signed in are sent to the sign-in page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from jpweb.runtime.crossing import in_store
from jpweb.store import accounts, conversations, inquiries, prompts
from jpweb.store.errors import StoreError
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.terms import Role
from jpweb.web.security import activity, caches, trail

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Inquiry, Membership, Person, Prompt, Workspace
    from jpweb.web.http import Request

View = Callable[..., Any]


class NotSignedIn(Exception):
    """Nobody is signed in."""


class NotMember(Http404):
    """The person has no role in the workspace of what was asked for."""


def public(view: View) -> View:
    """Let everybody in."""
    return _mark(view, "public")


def signed_in(view: View) -> View:
    """Let in whoever is signed in; the page shows them only what is theirs."""
    return _guard(view, "signed in", lambda _request: {})


def conversation(role: Role) -> Callable[[View], View]:
    """Let in members of the conversation's workspace from this role on; hands over the row."""

    def check(request: Request, conversation_id: int) -> dict[str, Any]:
        return {"conversation": readable(request.user.pk, conversation_id, role)}

    return lambda view: _guard(view, f"conversation: {role.label}", check)


def inquiry(role: Role) -> Callable[[View], View]:
    """Let in members of the question's workspace from this role on; hands over the row."""

    def check(request: Request, inquiry_id: int) -> dict[str, Any]:
        found: Inquiry = _or_404(inquiries.get, inquiry_id)
        _need(request.user.pk, found.conversation.workspace_id, role)
        return {"inquiry": found}

    return lambda view: _guard(view, f"inquiry: {role.label}", check)


def prompt(role: Role) -> Callable[[View], View]:
    """Let in members of the prompt's workspace from this role on; hands over the row."""

    def check(request: Request, prompt_id: int) -> dict[str, Any]:
        found: Prompt = _or_404(prompts.get, prompt_id)
        _need(request.user.pk, found.conversation.workspace_id, role)
        return {"prompt": found}

    return lambda view: _guard(view, f"prompt: {role.label}", check)


def workspace(role: Role) -> Callable[[View], View]:
    """Let in members of the workspace from this role on; hands over the row."""

    def check(request: Request, workspace_id: int) -> dict[str, Any]:
        _need(request.user.pk, workspace_id, role)
        found: Workspace = accounts.workspace(workspace_id)
        return {"workspace": found}

    return lambda view: _guard(view, f"workspace: {role.label}", check)


def membership(role: Role) -> Callable[[View], View]:
    """Let in members of the membership's workspace from this role on; hands over the row."""

    def check(request: Request, membership_id: int) -> dict[str, Any]:
        found: Membership | None = accounts.membership(membership_id)
        if found is None:
            raise Http404
        _need(request.user.pk, found.workspace_id, role)
        return {"member": found}

    return lambda view: _guard(view, f"membership: {role.label}", check)


def somewhere(role: Role) -> Callable[[View], View]:
    """Let in whoever has this role in some workspace; the page shows only those workspaces."""

    def check(request: Request) -> dict[str, Any]:
        if role > max(accounts.roles(request.user.pk).values(), default=0):
            raise PermissionDenied
        return {}

    return lambda view: _guard(view, f"somewhere: {role.label}", check)


def readable(person_id: int, conversation_id: int, role: Role = Role.READER) -> Conversation:
    """Return a conversation or raise Http404 (outsider) or PermissionDenied (role too low)."""
    found: Conversation = _or_404(conversations.get, conversation_id)
    _need(person_id, found.workspace_id, role)
    return found


def may(person_id: int, workspace_id: int, role: Role) -> bool:
    """Tell whether a person has at least this role in a workspace."""
    own = accounts.role_in(person_id, workspace_id)
    return own is not None and own >= role


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return what the head of every page shows: own roles, how much waits, where one is."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    roles = accounts.roles(user.pk)
    joined = accounts.workspaces(user.pk, Role.READER) if roles else []
    return {
        "may_audit": any(role >= Role.AUDITOR for role in roles.values()),
        "may_answer": any(role >= Role.RESPONDER for role in roles.values()),
        "joined": joined,
        "owned": [each for each in joined if roles.get(each.pk) == Role.OWNER],
        "waiting_count": prompts.waiting_count(user.pk),
        "section": request.path.strip("/").partition("/")[0],
    }


def lasts(session_key: str) -> bool:
    """Tell whether a sign-in lasts; where the database is away nobody is sent off for it."""
    try:
        return accounts.signed_in(session_key) is not None
    except DATABASE_GONE:
        return True


def answering(session_key: str | None, inquiry_id: int) -> tuple[Person, Inquiry]:
    """Return who answers by a sign-in, and the row of the question, as ``question-answer`` does.

    Raises NotSignedIn where the sign-in has ended, Http404 or PermissionDenied.
    """
    person = accounts.signed_in(session_key)
    if person is None:
        raise NotSignedIn
    activity.note(session_key)
    found: Inquiry = _or_404(inquiries.get, inquiry_id)
    _need(person.pk, found.conversation.workspace_id, Role.RESPONDER)
    return person, found


def _need(person_id: int, workspace_id: int, role: Role) -> None:
    own = accounts.role_in(person_id, workspace_id)
    if own is None:
        raise NotMember
    if own < role:
        raise PermissionDenied


def _or_404(get: Callable[[int], Any], key: int) -> Any:
    try:
        return get(key)
    except StoreError as missing:
        raise Http404(str(missing)) from missing


def _mark(view: View, rule: str) -> View:
    view.access_rule = rule  # type: ignore[attr-defined]  # read by the test over all routes
    return view


def _guard(view: View, rule: str, check: Callable[..., dict[str, Any]]) -> View:
    """Wrap a view: the check takes the route's keys and returns what the view gets for them."""
    taken = list(signature(check).parameters)[1:]

    def enter(request: HttpRequest, keys: dict[str, Any]) -> dict[str, Any]:
        given = {name: keys.pop(name) for name in taken}
        return keys | _admit(request, rule, partial(check, request, **given))

    if iscoroutinefunction(view):

        @wraps(view)
        async def guarded_async(request: HttpRequest, **keys: Any) -> HttpResponse:
            try:
                found = await in_store(enter, request, keys)
            except NotSignedIn:
                return _to_sign_in(request)
            awaitable: Awaitable[HttpResponse] = view(request, **found)
            return await awaitable

        return _mark(guarded_async, rule)

    @wraps(view)
    def guarded(request: HttpRequest, **keys: Any) -> HttpResponse:
        try:
            found = enter(request, keys)
        except NotSignedIn:
            return _to_sign_in(request)
        response: HttpResponse = view(request, **found)
        return response

    return _mark(guarded, rule)


def _admit(request: HttpRequest, rule: str, check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what the check finds. Raises NotSignedIn, and what the check raises."""
    if not request.user.is_authenticated:
        raise NotSignedIn
    if activity.is_by_person(request):
        activity.note(request.session.session_key)
    try:
        return check()
    except (PermissionDenied, NotMember):
        trail.record("denied", request, rule=rule, path=request.path)
        raise


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    there = reverse("sign-in")
    if request.headers.get("HX-Request"):
        # htmx would follow a redirect and put the whole page where a fragment belongs.
        return HttpResponseClientRedirect(there)
    query = urlencode({"next": request.get_full_path()}) if request.method == "GET" else ""
    response = HttpResponseRedirect(there + (f"?{query}" if query else ""))
    if settings.SESSION_COOKIE_NAME in request.COOKIES:
        # A sign-in has ended elsewhere or by itself; what was typed is its person's still.
        caches.clear_site_data(response, storage=False)
    return response
