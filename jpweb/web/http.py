"""Type of the request that views get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from jpweb.store.choices import Role
    from jpweb.store.models import Person


class Request(HttpRequest):
    """The request of a person who is signed in."""

    #: Never anonymous: the view's access rule has checked the sign-in.
    user: Person
    htmx: HtmxDetails
    #: The person's roles by key of the workspace, once ``access.get_roles`` has read them.
    roles: dict[int, Role]
