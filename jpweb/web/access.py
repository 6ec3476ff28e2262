"""Access rules: decorators that admit a request to a view by its method and the person's role.

Every view has one. Methods that the view does not take get 405. People without a role in the
workspace get 404, so that the status does not reveal which rows exist; members whose role is too
low get 403; people who are not signed in are redirected to the sign-in page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts, approvals, conversations, inquiries
from jpweb.store.choices import Role
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import StoreError
from jpweb.store.people import groups
from jpweb.store.suspected_secrets import suggestions
from jpweb.web.http import View, refuse_method
from jpweb.web.security import (
    browser_sessions,
    cache_headers,
    read_recording,
    security_log,
    session_activity,
)

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from jpweb.store.models import (
        Approval,
        Conversation,
        Inquiry,
        Membership,
        Person,
        SuspectedSecret,
        Workspace,
    )
    from jpweb.web.http import Request

_PUBLIC_RULE = "public"


class NotSignedIn(Exception):
    """The request carries no valid sign-in."""


class NotMember(Http404):
    """The person has no role in the workspace of the requested row."""


def public(view: View) -> View:
    """Admit every request, signed in or not."""
    return _tag_access_rule(_limit_methods(view), _PUBLIC_RULE)


def is_public(request: HttpRequest) -> bool:
    """Tell whether the view of a request admits everyone, so that it may sign a browser in."""
    match = request.resolver_match
    return match is not None and getattr(match.func, "access_rule", "") == _PUBLIC_RULE


def signed_in(view: View) -> View:
    """Admit people who are signed in; the view limits its rows to their workspaces."""
    return _guard_view(view, "signed in", lambda _request: {})


def conversation(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role; the view gets the ``conversation``."""

    def check(request: Request, conversation_id: int) -> dict[str, Any]:
        row: Conversation = _get_or_404(conversations.get_conversation, conversation_id)
        _require_role(request, row.workspace_id, role)
        return {"conversation": row}

    return lambda view: _guard_view(view, f"conversation: {role.label}", check)


def inquiry(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role in its workspace; the view gets the ``inquiry``."""

    def check(request: Request, inquiry_id: int) -> dict[str, Any]:
        row: Inquiry = _get_or_404(inquiries.get_inquiry, inquiry_id)
        _require_role(request, row.conversation.workspace_id, role)
        return {"inquiry": row}

    return lambda view: _guard_view(view, f"inquiry: {role.label}", check)


def approval(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role in its workspace; the view gets the ``approval``."""

    def check(request: Request, approval_id: int) -> dict[str, Any]:
        row: Approval = _get_or_404(approvals.get_approval, approval_id)
        _require_role(request, row.conversation.workspace_id, role)
        return {"approval": row}

    return lambda view: _guard_view(view, f"approval: {role.label}", check)


def suspected_secret(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role in its workspace; the view gets the ``suggestion``."""

    def check(request: Request, suspected_secret_id: int) -> dict[str, Any]:
        row: SuspectedSecret = _get_or_404(suggestions.get_suspected_secret, suspected_secret_id)
        _require_role(request, row.workspace_id, role)
        return {"suggestion": row}

    return lambda view: _guard_view(view, f"suspected_secret: {role.label}", check)


def workspace(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role; the view gets the ``workspace``."""

    def check(request: Request, workspace_id: int) -> dict[str, Any]:
        _require_role(request, workspace_id, role)
        row: Workspace = accounts.get_workspace(workspace_id)
        return {"workspace": row}

    return lambda view: _guard_view(view, f"workspace: {role.label}", check)


def membership(role: Role) -> Callable[[View], View]:
    """Admit members with at least this role in its workspace; the view gets the ``member``."""

    def check(request: Request, membership_id: int) -> dict[str, Any]:
        row: Membership | None = accounts.get_membership(membership_id)
        if row is None:
            raise Http404
        _require_role(request, row.workspace_id, role)
        return {"member": row}

    return lambda view: _guard_view(view, f"membership: {role.label}", check)


def managed_group(view: View) -> View:
    """Admit owners of all workspaces in which the group has a role; the view gets ``summary``."""

    def check(request: Request, group_id: int) -> dict[str, Any]:
        summary = groups.get_managed(group_id, request.user.pk)
        if summary is None:
            raise Http404
        return {"summary": summary}

    return _guard_view(view, "group: manager", check)


def any_workspace(role: Role) -> Callable[[View], View]:
    """Admit people with at least this role in any workspace; the view shows only those."""

    def check(request: Request) -> dict[str, Any]:
        roles = get_roles(request).values()
        if not any(actual_role.has_rights_of(role) for actual_role in roles):
            raise PermissionDenied
        return {}

    return lambda view: _guard_view(view, f"somewhere: {role.label}", check)


def first_person(view: View) -> View:
    """Admit the first person of the installation, in a session that no one else's link led to."""

    def check(request: Request) -> dict[str, Any]:
        if not is_first_person_session(request):
            raise PermissionDenied
        return {}

    return _guard_view(view, "first person", check)


def is_first_person_session(request: HttpRequest) -> bool:
    """Tell whether the first person is signed in by a link of the operator's or their own."""
    user: Any = request.user
    return accounts.is_first_person(user) and not browser_sessions.has_other_maker(request)


def get_roles(request: Request) -> dict[int, Role]:
    """Return the person's role in each workspace, by its key; one query for each request."""
    roles: dict[int, Role] | None = getattr(request, "roles", None)
    if roles is None:
        roles = request.roles = accounts.get_roles(request.user.pk)
    return roles


def list_workspaces(request: Request, role: Role) -> list[Workspace]:
    """Return the workspaces in which the person has at least this role, by name.

    One query for each request, whose header names all of them.
    """
    workspaces: list[Workspace] | None = getattr(request, "workspaces", None)
    if workspaces is None:
        workspaces = accounts.list_workspaces(request.user.pk, Role.READER)
        request.workspaces = workspaces
    return [row for row in workspaces if has_request_role(request, row.pk, role)]


def has_request_role(request: Request, workspace_id: int, role: Role) -> bool:
    """Tell whether the person of a request has at least this role in a workspace."""
    actual_role = get_roles(request).get(workspace_id)
    return actual_role is not None and actual_role.has_rights_of(role)


def has_role(person_id: int, workspace_id: int, role: Role) -> bool:
    """Tell whether a person has at least this role in a workspace, as it is now."""
    actual_role = accounts.get_role(person_id, workspace_id)
    return actual_role is not None and actual_role.has_rights_of(role)


def is_session_valid(session_key: str) -> bool:
    """Tell whether a session is signed in; True while the database is unavailable."""
    try:
        return accounts.get_signed_in_person(session_key) is not None
    except DATABASE_UNAVAILABLE:
        return True


def authorize_answer(session_key: str | None, inquiry_id: int) -> tuple[Person, Inquiry]:
    """Return the person of a session and the inquiry that they may answer.

    The rule is that of the route ``question-answer``, and a denial is logged as one there. Raises
    NotSignedIn where the session has ended, Http404 or PermissionDenied.
    """
    person = accounts.get_signed_in_person(session_key)
    if person is None:
        raise NotSignedIn
    session_activity.note_session_use(session_key)
    row: Inquiry = _get_or_404(inquiries.get_inquiry, inquiry_id)
    actual_role = accounts.get_role(person.pk, row.conversation.workspace_id)
    try:
        _refuse_lower_role(actual_role, Role.RESPONDER)
    except (PermissionDenied, NotMember):
        security_log.log_event(
            "denied",
            person=person.pk,
            account=person.username,
            rule=f"inquiry: {Role.RESPONDER.label}",
            path=reverse("question-answer", args=[inquiry_id]),
        )
        raise
    return person, row


def _require_role(request: Request, workspace_id: int, role: Role) -> None:
    _refuse_lower_role(get_roles(request).get(workspace_id), role)


def _refuse_lower_role(actual_role: Role | None, role: Role) -> None:
    if actual_role is None:
        raise NotMember
    if not actual_role.has_rights_of(role):
        raise PermissionDenied


def _get_or_404(fetch: Callable[[int], Any], key: int) -> Any:
    try:
        return fetch(key)
    except StoreError as error:
        raise Http404(str(error)) from error


def _tag_access_rule(view: View, rule: str) -> View:
    view.access_rule = rule  # type: ignore[attr-defined]  # read by the test over all routes
    return view


def _limit_methods(view: View) -> View:
    """Refuse methods that the view does not take, the same for everybody and every row."""
    if iscoroutinefunction(view):

        @wraps(view)
        async def limited_async_view(request: HttpRequest, **route_args: Any) -> HttpResponse:
            refusal = refuse_method(request, limited_async_view)
            return refusal or await view(request, **route_args)

        return limited_async_view

    @wraps(view)
    def limited_view(request: HttpRequest, **route_args: Any) -> HttpResponse:
        return refuse_method(request, limited_view) or view(request, **route_args)

    return limited_view


def _guard_view(view: View, rule: str, check: Callable[..., dict[str, Any]]) -> View:
    """Wrap a view: the check takes route parameters and returns the view's arguments for them."""
    check_params = list(signature(check).parameters)[1:]

    def admit_request(request: HttpRequest, route_args: dict[str, Any]) -> dict[str, Any]:
        check_args = {name: route_args.pop(name) for name in check_params}
        return route_args | _check_access(request, rule, partial(check, request, **check_args))

    if iscoroutinefunction(view):

        @wraps(view)
        async def guarded_async_view(request: Request, **route_args: Any) -> HttpResponse:
            try:
                view_args = await run_in_db_thread(admit_request, request, route_args)
            except NotSignedIn:
                return _redirect_to_sign_in(request)
            awaitable: Awaitable[HttpResponse] = view(request, **view_args)
            response = await awaitable
            read_recording.note_response(request, view_args, response, partial(get_roles, request))
            return response

        return _tag_access_rule(_limit_methods(guarded_async_view), rule)

    @wraps(view)
    def guarded_view(request: Request, **route_args: Any) -> HttpResponse:
        try:
            view_args = admit_request(request, route_args)
        except NotSignedIn:
            return _redirect_to_sign_in(request)
        response: HttpResponse = view(request, **view_args)
        read_recording.note_response(request, view_args, response, partial(get_roles, request))
        return response

    return _tag_access_rule(_limit_methods(guarded_view), rule)


def _check_access(
    request: HttpRequest, rule: str, check: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return the check's result. Raises NotSignedIn, Http404 and PermissionDenied."""
    if not request.user.is_authenticated:
        raise NotSignedIn
    if session_activity.is_by_person(request):
        session_activity.note_session_use(request.session.session_key)
    try:
        return check()
    except (PermissionDenied, NotMember):
        security_log.log_event("denied", request, rule=rule, path=request.path)
        raise


def _make_sign_in_url(next_url: str) -> str:
    """Return the path of the sign-in page, which leads on to a page of this site."""
    query = urlencode({"next": next_url}) if next_url else ""
    return reverse("sign-in") + (f"?{query}" if query else "")


def _find_current_path(htmx: HtmxDetails) -> str:
    """Return the path of the page that sent a request; "" of another site, or where it is none."""
    try:
        return htmx.current_url_abs_path or ""
    except ValueError:  # urlsplit refuses some addresses, such as half of an IPv6 one
        return ""


def _redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # set by its middleware
    if htmx:
        # htmx would follow a redirect and swap the sign-in page in as a fragment.
        return HttpResponseClientRedirect(_make_sign_in_url(_find_current_path(htmx)))
    next_url = request.get_full_path() if request.method == "GET" else ""
    url = _make_sign_in_url(next_url)
    if not next_url:
        # Without a fragment browsers keep that of the form's address, such as ``#reviews``, which
        # the sign-in page would take for the code of a link.
        url += "#"
    response = HttpResponseRedirect(url)
    if cache_headers.has_session_cookie(request):
        # The session expired or was ended on another device; drafts in the browser's storage stay.
        cache_headers.clear_site_data(response, storage=False)
    return response
