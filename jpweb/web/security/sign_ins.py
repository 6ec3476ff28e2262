"""Beginning and ending the sign-in of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from jpweb.store.people.sessions import MAKER_KEY, hash_key
from jpweb.web.security import caches, trail

if TYPE_CHECKING:
    from jpweb.store.models import Person

BACKEND = "django.contrib.auth.backends.ModelBackend"


def begin(request: HttpRequest, person: Person, maker_id: int | None) -> list[str]:
    """Sign a person in; returns the hash of the sign-in that this ends, if there was one.

    ``maker_id`` is the other person who made the link by which it begins.
    """
    before = request.session.session_key
    login(request, person, backend=BACKEND)
    request.session[MAKER_KEY] = None if maker_id == person.pk else maker_id
    trail.record("sign-in", request, link_maker=maker_id)
    return [hash_key(before)] if before else []


def end(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out here, and let the browser remove what it keeps."""
    trail.record("sign-out", request)
    logout(request)
    caches.clear_site_data(response, storage=True)


def read_code(typed: str) -> str:
    """Return the token in what was typed: a code, or a whole link that ends with one."""
    return typed.strip().rpartition("#")[2][:200]


def make_link(request: HttpRequest, page: str, token: str) -> str:
    """Return a link to a page with a token behind ``#``, which browsers send to no server.

    So it is in no access log, and in no Referer.
    """
    return f"{request.build_absolute_uri(reverse(page))}#{token}"
