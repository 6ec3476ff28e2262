"""Sign-in and sign-out of a browser's session, and the links that sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.people.sessions import BROWSER_KEY, MAKER_KEY, OWN_KEY, hash_key
from jpweb.web.security import browser_names, cache_headers, security_log

if TYPE_CHECKING:
    from jpweb.store.models import Person

AUTH_BACKEND = "django.contrib.auth.backends.ModelBackend"


def begin_session(
    request: HttpRequest,
    person: Person,
    maker_id: int | None,
    *,
    provider: str = "",
    passkey: str = "",
    is_own: bool | None = None,
) -> list[str]:
    """Sign a person in; return the hashes of the sessions that this ends.

    ``maker_id`` is the person who made the sign-in link. Without a link, ``provider`` is the title
    of the identity provider, or ``passkey`` the name of the passkey. ``is_own`` tells whether no
    other person's link can have led here: a person's own link does not prove it, which somebody
    signed in by another's link can make.
    """
    previous_key = request.session.session_key
    login(request, person, backend=AUTH_BACKEND)
    request.session[MAKER_KEY] = None if maker_id == person.pk else maker_id
    request.session[OWN_KEY] = maker_id is None if is_own is None else is_own
    user_agent = request.headers.get("User-Agent", "")
    request.session[BROWSER_KEY] = browser_names.describe_browser(user_agent)
    ways = {"provider": provider, "passkey": passkey}
    details = {key: value for key, value in ways.items() if value} or {"link_maker": maker_id}
    security_log.log_event("sign-in", request, **details)
    record_act(Act.SIGNED_IN, Actor.from_person(person), Place(), **details)
    return [hash_key(previous_key)] if previous_key else []


def end_session(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out this browser, and let it remove cached pages."""
    security_log.log_event("sign-out", request)
    if request.user.is_authenticated:
        record_act(Act.SIGNED_OUT, Actor.from_person(request.user), Place())
    logout(request)
    cache_headers.clear_site_data(response, storage=True)


def read_code(typed: str) -> str:
    """Return the token in a form's code: the code itself, or the end of a whole link."""
    return typed.strip().rpartition("#")[2][:200]


def make_link(request: HttpRequest, page: str, token: str) -> str:
    """Return a link to a page with a token in its fragment, which browsers send to no server.

    So the token is in no access log and no Referer.
    """
    return f"{request.build_absolute_uri(reverse(page))}#{token}"
