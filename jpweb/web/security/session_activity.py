"""Last use of sessions: noted in memory by each request, written periodically.

So no GET waits for a write. A killed process loses some seconds of use.
"""

from __future__ import annotations

from django.http import HttpRequest

from jpweb.runtime.broadcast import session_expiry
from jpweb.store.people.sessions import hash_key

#: Header of the requests that a page's script sends without an action of the person.
AUTOMATIC_HEADER = "X-Automatic"


def note_session_use(session_key: str | None) -> None:
    """Note that a session was used just now."""
    if session_key:
        session_expiry.used_key_hashes.add(hash_key(session_key))


def is_by_person(request: HttpRequest) -> bool:
    """Tell whether a person caused the request; automatic requests keep no session alive."""
    return AUTOMATIC_HEADER not in request.headers
