"""Type of the request that views get, and the HTTP methods that they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from jpweb.store.choices import Role
    from jpweb.store.models import Person, Workspace

View = Callable[..., Any]

#: Methods of a view that names none: it changes nothing.
READ_METHODS = ("GET", "HEAD")


class Request(HttpRequest):
    """The request of a person who is signed in."""

    #: Never anonymous: the view's access rule has checked the sign-in.
    user: Person
    htmx: HtmxDetails
    #: The person's roles by key of the workspace, once ``access.get_roles`` has read them.
    roles: dict[int, Role]
    #: The person's workspaces, once ``access.list_workspaces`` has read them.
    workspaces: list[Workspace]


def require_http_methods(methods: Sequence[str]) -> Callable[[View], View]:
    """Name the methods that a view takes in place of ``READ_METHODS``.

    Unlike Django's decorator it refuses nothing: the access rule does, which every view has.
    """

    def name_methods(view: View) -> View:
        view.allowed_methods = tuple(methods)  # type: ignore[attr-defined]  # see refuse_method
        return view

    return name_methods


require_GET = require_http_methods(["GET"])  # noqa: N816  as in Django
require_POST = require_http_methods(["POST"])  # noqa: N816  as in Django
#: A page with a form that is sent to the page's own address.
take_form = require_http_methods([*READ_METHODS, "POST"])


def refuse_method(request: HttpRequest, view: View) -> HttpResponse | None:
    """Return 405 for a method that a view does not take, for OPTIONS the methods; else None."""
    methods: tuple[str, ...] = getattr(view, "allowed_methods", READ_METHODS)
    if request.method in methods:
        return None
    if request.method == "OPTIONS":
        return HttpResponse(status=204, headers={"Allow": ", ".join((*methods, "OPTIONS"))})
    return HttpResponseNotAllowed(methods)
