"""The request as the pages get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from jpweb.store.models import Person


class Request(HttpRequest):
    """A request of someone who is signed in."""

    user: Person  # type: ignore[assignment]  # the access rule has let nobody else through
    htmx: HtmxDetails
