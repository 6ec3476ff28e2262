"""Session backend: rows are found by the hash of the cookie's key, and end after an idle time.

So a stolen copy of the database holds no usable cookie. Times are by the database's clock. Rows
name their person, so that all sign-ins of a person can be ended at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import CreateError, SessionBase, UpdateError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from jpweb.store.database import clock
from jpweb.store.models import SignIn
from jpweb.store.people.token_hashes import hash_token
from jpweb.store.sql.compiled_query import CompiledQuery

#: Key in a session's data, of the other person who made the sign-in link that led to it.
MAKER_KEY = "link_maker"
#: Key in a session's data, of the name of the browser that signed in.
BROWSER_KEY = "browser"
#: Key in a session's data: whether no other person's sign-in link can have led to the session.
OWN_KEY = "is_own"
#: Key in a session's data, of the keys of the passkeys and identities used or added in it.
CREDENTIALS_KEY = "credentials"
#: Keys of one query at most.
MAX_KEYS_PER_QUERY = 500


class SessionStore(SessionBase):
    """Session in the table SignIn. The asynchronous methods are those of SessionBase."""

    def load(self) -> dict[str, Any]:
        """Return the data; an unknown, expired or idle session is empty and has no key."""
        for data, expires_at, began_at, seen_at, current_time in self._fetch_row():
            if current_time < _compute_end(expires_at, began_at, seen_at):
                decoded_data: dict[str, Any] = self.decode(data)
                return decoded_data
        self._session_key = None
        return {}

    def _fetch_row(self) -> list[tuple[str, datetime, datetime, datetime, datetime]]:
        return [] if self.session_key is None else _session_query([hash_key(self.session_key)])

    def exists(self, session_key: str) -> bool:
        return SignIn.objects.filter(key_hash=hash_key(session_key)).exists()

    def create(self) -> None:
        self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]  # Django's
        self.save(must_create=True)
        self.modified = True

    def save(self, must_create: bool = False) -> None:
        """Write the data. Raises UpdateError where the session has ended meanwhile."""
        if self.session_key is None:
            self.create()
            return
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]  # Django's
        row = {
            "data": self.encode(data),
            "person_id": data.get(SESSION_KEY),
            "maker_id": data.get(MAKER_KEY),
        }
        key_hash = hash_key(self.session_key)
        if must_create:
            self._insert(key_hash, row)
        # ``expires_at``, the absolute limit, is not updated: a write does not extend it.
        elif not SignIn.objects.filter(key_hash=key_hash).update(**row):
            raise UpdateError

    def _insert(self, key_hash: str, row: dict[str, Any]) -> None:
        limit = Now() + timedelta(seconds=settings.SESSION_COOKIE_AGE)
        try:
            with transaction.atomic():
                SignIn.objects.create(key_hash=key_hash, seen_at=Now(), expires_at=limit, **row)
        except IntegrityError as error:
            raise CreateError from error

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            SignIn.objects.filter(key_hash=hash_key(key)).delete()

    @classmethod
    def clear_expired(cls) -> None:
        SignIn.objects.exclude(_is_live()).delete()


@dataclass(frozen=True, slots=True)
class OpenSignIn:
    """A sign-in, for the list that its person sees; ``browser`` is empty where unknown.

    ``has_other_maker`` tells whether a sign-in link that another person made led to it.
    """

    key_hash: str
    browser: str
    began_at: datetime
    seen_at: datetime
    is_current: bool
    has_other_maker: bool


def hash_key(session_key: str) -> str:
    """Return the primary key of a session's row."""
    return hash_token(session_key)


def find_live(session_key: str | None) -> SignIn | None:
    """Return the sign-in of a session with its person; None where it has ended."""
    rows: list[SignIn] = _sign_in_query([hash_key(session_key)]) if session_key else []
    for row in rows:
        is_current = clock.now() < _compute_end(row.expires_at, row.began_at, row.seen_at)
        if is_current and _is_signed(row):
            return row
    return None


def _is_signed(row: SignIn) -> bool:
    """Tell whether a sign-in's data are signed with the present key, and name its person.

    As with Django's ``get_user``, no other data sign anybody in.
    """
    named_person: object = SessionStore().decode(row.data).get(SESSION_KEY)
    return named_person == str(row.person_id)


def list_open(person_id: int, session_key: str | None) -> list[OpenSignIn]:
    """Return the sign-ins of a person that work, the newest request first.

    Those from before a change of the secret key no longer do.
    """
    current_hash = hash_key(session_key or "")
    rows = list_live_rows().filter(person_id=person_id).order_by("-seen_at")
    return [
        OpenSignIn(
            row.pk,
            read_browser(row),
            row.began_at,
            row.seen_at,
            row.pk == current_hash,
            row.maker_id not in (None, person_id),
        )
        for row in rows
        if _is_signed(row)
    ]


def list_live(key_hashes: Collection[str]) -> dict[str, int]:
    """Return the person of each of these sign-ins that has not ended and whose person is active."""
    keys = sorted(key_hashes)
    person_ids: dict[str, int] = {}
    for start in range(0, len(keys), MAX_KEYS_PER_QUERY):
        rows = list_live_rows().filter(pk__in=keys[start : start + MAX_KEYS_PER_QUERY])
        person_ids |= dict(rows.filter(person__is_active=True).values_list("pk", "person_id"))
    return person_ids


def record_requests(key_hashes: Collection[str]) -> None:
    """Note that these sign-ins were used now; those that have ended stay ended."""
    keys = sorted(key_hashes)
    for start in range(0, len(keys), MAX_KEYS_PER_QUERY):
        list_live_rows().filter(pk__in=keys[start : start + MAX_KEYS_PER_QUERY]).update(
            seen_at=Now()
        )


def end_all(person_id: int, but_key: str | None = None) -> list[str]:
    """End the sign-ins of a person, except one; returns the hashes of those that ended."""
    return _end(_filter_others(person_id, but_key))


def end_unproven(
    person_id: int, but_key: str | None = None, removed_keys: Collection[str] = ()
) -> list[str]:
    """End the sign-ins of a person to which another person's link may have led, except one.

    So end those in which one of these removed passkeys or identities was used or added. Returns
    the hashes of those that ended.
    """
    rows = _filter_others(person_id, but_key)
    data_by_key = {row.pk: SessionStore().decode(row.data) for row in rows}
    ended_keys = [
        key
        for key, data in data_by_key.items()
        if not data.get(OWN_KEY) or not set(removed_keys).isdisjoint(data.get(CREDENTIALS_KEY, ()))
    ]
    return _end(rows.filter(pk__in=ended_keys))


def end_one(person_id: int, key_hash: str) -> str | None:
    """End a sign-in of a person; returns the name of its browser, or None where there is none."""
    # Compared here: PostgreSQL refuses a text with NUL.
    rows = list_live_rows().filter(person_id=person_id)
    row = next((row for row in rows if row.pk == key_hash), None)
    if row is None or not _end(SignIn.objects.filter(pk=row.pk)):
        return None
    return read_browser(row)


def end_made_by_others(person_id: int, but_key: str | None = None) -> list[str]:
    """End the sign-ins of a person that another person's link led to, except one.

    Returns the hashes of those that ended.
    """
    other_sessions = _filter_others(person_id, but_key).filter(maker__isnull=False)
    return _end(other_sessions.exclude(maker_id=person_id))


def read_browser(row: SignIn) -> str:
    """Return the name of the browser that signed in; empty where unknown."""
    return str(SessionStore().decode(row.data).get(BROWSER_KEY, ""))


def _filter_others(person_id: int, but_key: str | None) -> QuerySet[SignIn]:
    sign_ins = SignIn.objects.filter(person_id=person_id)
    return sign_ins.exclude(pk=hash_key(but_key)) if but_key else sign_ins


def _end(rows: QuerySet[SignIn]) -> list[str]:
    keys = list(rows.values_list("pk", flat=True))
    SignIn.objects.filter(pk__in=keys).delete()
    return keys


def list_live_rows() -> QuerySet[SignIn]:
    """Return the sign-ins that have not ended."""
    return SignIn.objects.filter(_is_live())


#: Run for every request: 0.05 ms of processor time; the ORM takes 0.60.
_session_query = CompiledQuery(
    lambda key_hashes: SignIn.objects.filter(pk__in=key_hashes).values_list(
        "data", "expires_at", "began_at", "seen_at", Now()
    )
)
#: Run for every answer over a socket: Django's ``get_user`` took 0.2 ms longer, for a second query
#: and a password that nobody has.
_sign_in_query = CompiledQuery(
    lambda key_hashes: SignIn.objects.filter(pk__in=key_hashes).select_related("person")
)


def _is_live() -> Q:
    """Return the condition that ``_compute_end`` of a row is in the future."""
    age_seconds, idle_seconds = _read_limits()
    return Q(
        expires_at__gt=Now(), began_at__gt=Now() - age_seconds, seen_at__gt=Now() - idle_seconds
    )


def _compute_end(expires_at: datetime, began_at: datetime, seen_at: datetime) -> datetime:
    """Return when a sign-in ends; a limit that was lowered since it began counts for it, too."""
    age_seconds, idle_seconds = _read_limits()
    return min(expires_at, began_at + age_seconds, seen_at + idle_seconds)


def _read_limits() -> tuple[timedelta, timedelta]:
    """Return how long a sign-in may last, and how long without a request."""
    age_seconds, idle_seconds = settings.SESSION_COOKIE_AGE, settings.SESSION_IDLE_SECONDS
    return timedelta(seconds=age_seconds), timedelta(seconds=idle_seconds)
