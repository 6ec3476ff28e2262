"""Sign-in and sign-out of a browser's session, and the links that sign in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.inbox import claims
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.people import identities
from jpweb.store.people.sessions import (
    BROWSER_KEY,
    CREDENTIALS_KEY,
    MAKER_KEY,
    OWN_KEY,
    hash_key,
)
from jpweb.store.reviews import reservations
from jpweb.web import notice_text
from jpweb.web.security import browser_names, cache_headers, security_log

if TYPE_CHECKING:
    from jpweb.store.models import Person
    from jpweb.store.people.identities import Credential

#: The first of ``AUTHENTICATION_BACKENDS``.
AUTH_BACKEND = "jpweb.store.people.person_backend.PersonBackend"
CODE_ENTRY_SECONDS = 600
#: Key in a session's data, of the sign-in link that waits for a code.
_CODE_ENTRY_KEY = "code_entry"


class CodeEntry(NamedTuple):
    """A sign-in link that waits for a code, and the page to open afterwards."""

    link_id: int
    next_url: str


def begin_session(
    request: HttpRequest,
    person: Person,
    maker_id: int | None,
    *,
    is_own: bool | None = None,
    credential: str = "",
    **method: str,
) -> list[str]:
    """Sign a person in; return the hashes of the sessions that this ends.

    The sign-in of another person in this browser ends, as by their own sign-out.
    ``maker_id`` is the person who made the sign-in link; for a passkey or an identity the one whose
    link led to it. ``method`` is what else the ledger says: ``second_factor``; or without a link
    ``provider``, the title of the identity provider, or ``passkey``, its name. ``is_own`` tells
    whether no other person's link can have led here. A person's own link is no proof: a session
    begun by someone else's link can create one. ``credential`` is the key of the passkey or
    identity.
    """
    previous_key = request.session.session_key
    if cache_headers.has_session_cookie(request) and request.user.pk != person.pk:
        cache_headers.mark_cache_stale(request)
    request.session.pop(_CODE_ENTRY_KEY, None)
    if request.user.is_authenticated and request.user.pk != person.pk:
        _record_sign_out(request)
    login(request, person, backend=AUTH_BACKEND)
    request.session[MAKER_KEY] = None if maker_id == person.pk else maker_id
    request.session[OWN_KEY] = maker_id is None if is_own is None else is_own
    request.session[CREDENTIALS_KEY] = [credential] if credential else []
    user_agent = request.headers.get("User-Agent", "")
    request.session[BROWSER_KEY] = browser_names.describe_browser(user_agent)
    is_by_link = not method.keys() & {"provider", "passkey"}
    details = ({"link_maker": maker_id} if is_by_link else {}) | method
    security_log.log_event("sign-in", request, **details)
    record_act(Act.SIGNED_IN, Actor.from_person(person), Place(), **details)
    return [hash_key(previous_key)] if previous_key else []


def note_credential(request: HttpRequest, key: str) -> None:
    """Note in the session that a passkey or an identity was added in it."""
    request.session[CREDENTIALS_KEY] = [*request.session.get(CREDENTIALS_KEY, []), key]


def log_removal(request: HttpRequest, credentials: Sequence[Credential]) -> str:
    """Log which passkeys and identities were removed; return the notice, empty for none."""
    for credential in credentials:
        security_log.log_event("passkey or identity removed", request, name=credential.name)
    names = ", ".join(f"“{credential.name}”" for credential in credentials)
    return notice_text.CREDENTIALS_REMOVED.format(names=names) if names else ""


def begin_code_entry(request: HttpRequest, link_id: int, next_url: str) -> None:
    """Have the session wait for the code that a sign-in link also asks for.

    ``next_url`` is the page of this site to open once the person is signed in.
    """
    entry = {"link": link_id, "next_url": next_url, "began_at": clock.get_timestamp()}
    request.session[_CODE_ENTRY_KEY] = entry


def find_code_entry(request: HttpRequest) -> CodeEntry | None:
    """Return the sign-in link for whose code the session waits; None after a while."""
    entry = request.session.get(_CODE_ENTRY_KEY)
    if entry is None or clock.get_timestamp() - entry["began_at"] > CODE_ENTRY_SECONDS:
        return None
    return CodeEntry(int(entry["link"]), entry.get("next_url") or reverse("home"))


def end_session(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out this browser, and let it remove cached pages."""
    _record_sign_out(request)
    logout(request)
    cache_headers.clear_site_data(response, storage=True)


def _record_sign_out(request: HttpRequest) -> None:
    """Record the end of the browser's sign-in, and release what its person holds."""
    security_log.log_event("sign-out", request)
    if request.user.is_authenticated:
        record_act(Act.SIGNED_OUT, Actor.from_person(request.user), Place())
        claims.release_all(request.user)
        reservations.release_all(request.user.pk)


def has_other_maker(request: HttpRequest) -> bool:
    """Tell whether a sign-in link that another person made led to the session."""
    user: Any = request.user
    return request.session.get(MAKER_KEY) not in (None, user.pk)


def list_proven_emails(request: HttpRequest) -> set[str]:
    """Return the verified addresses of the person's identities that were used in the session.

    The session decides, not the account: a person who took an earlier invitation in the place of
    the one whose address it is may be in the account too, by another credential.
    """
    if not request.user.is_authenticated:
        return set()
    credential_keys = request.session.get(CREDENTIALS_KEY, [])
    return identities.list_proven_emails(request.user.pk, credential_keys)


def read_code(typed_code: str) -> str:
    """Return the token in a form's code: the code itself, or the end of a whole link."""
    return typed_code.strip().rpartition("#")[2][:200]


def make_link(request: HttpRequest, page: str, token: str) -> str:
    """Return a link to a page with a token in its fragment, which browsers send to no server.

    So the token is in no access log and no Referer.
    """
    return f"{request.build_absolute_uri(reverse(page))}#{token}"
