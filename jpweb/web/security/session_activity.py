"""Use of sessions: noted in memory by each request, written periodically.

A GET so never waits for a write. A process that is killed forgets some seconds of use.
"""

from __future__ import annotations

from django.http import HttpRequest

from jpweb.runtime.broadcast import session_expiry
from jpweb.store.people.sessions import hash_key

#: The header of a request that a page makes by itself, without its person.
AUTOMATIC_HEADER = "X-Automatic"


def note_session_use(session_key: str | None) -> None:
    """Note that a session was used just now."""
    if session_key:
        session_expiry.used_key_hashes.add(hash_key(session_key))


def is_by_person(request: HttpRequest) -> bool:
    """Tell whether a person caused the request; automatic requests keep no session alive."""
    return AUTOMATIC_HEADER not in request.headers
