"""Rate limits, counted in this process: two servers admit twice as much.

A shared counter would cost a database write for each search, and let strangers cause writes. The
links cannot be guessed (256 bits); their limit bounds load and log lines.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.template.loader import render_to_string

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: Keys of which a limit remembers the events; the one that was counted first is forgotten.
MAX_KEYS = 10_000


class RateLimit:
    """Admits so many events a key within a sliding window."""

    def __init__(
        self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.count = count
        self.seconds = seconds
        self._clock = clock
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def admit(self, key: Hashable) -> int:
        """Count an event and return 0, or return the seconds after which one is admitted."""
        now = self._clock()
        times = self._times.setdefault(key, deque())
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if len(times) >= self.count:
            return math.ceil(times[0] + self.seconds - now)
        times.append(now)
        if len(self._times) > MAX_KEYS:
            self._times.popitem(last=False)
        return 0

    def forget(self) -> None:
        """Forget all events."""
        self._times.clear()


#: Sign-in and invitation links that were refused, by address.
REFUSED_LINKS = RateLimit(20, 60)
#: Searches, by person.
SEARCHES = RateLimit(120, 60)
#: Sockets that are opened, by person.
SOCKETS = RateLimit(240, 60)
LIMITS = (REFUSED_LINKS, SEARCHES, SOCKETS)


def refuse(what: str, seconds: int) -> HttpResponse:
    """Return the page with status 429; ``what`` begins its one line."""
    line = f"{what} Try again in {seconds} s."
    text = render_to_string("429.html", {"line": line})
    return HttpResponse(text, status=429, headers={"Retry-After": str(seconds)})


def limit_searches(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Bound how often one person calls the view; the access rule stands outside of this."""

    @wraps(view)
    def limited(request: Request, **keys: Any) -> HttpResponse:
        if seconds := SEARCHES.admit(request.user.pk):
            return refuse(f"You searched {SEARCHES.count} times within a minute.", seconds)
        return view(request, **keys)

    return limited


def refuse_link(address: str) -> HttpResponse | None:
    """Count a link that was refused; return the page for an address that tried too many."""
    if seconds := REFUSED_LINKS.admit(address):
        return refuse("Too many invalid links from your address.", seconds)
    return None
