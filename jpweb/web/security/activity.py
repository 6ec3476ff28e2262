"""Which sign-ins were used: noted in memory by each request, written now and then.

A GET so never waits for a write. A process that is killed forgets some seconds of use.
"""

from __future__ import annotations

from django.http import HttpRequest

from jpweb.runtime.signals import sign_ins
from jpweb.store.people.sessions import hash_key

#: The header of a request that a page makes by itself, without its person.
AUTOMATIC = "X-Automatic"


def note(session_key: str | None) -> None:
    """Note that a sign-in was used just now."""
    if session_key:
        sign_ins.used.add(hash_key(session_key))


def is_by_person(request: HttpRequest) -> bool:
    """Tell whether a person caused the request; a page that only looks again keeps nobody in."""
    return AUTOMATIC not in request.headers
