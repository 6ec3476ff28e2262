"""Rate limits, counted per process: two web servers admit twice as much.

A shared counter would cost a database write per search, and would let strangers cause writes. Links
cannot be guessed (256 bits); their limit bounds load and log lines.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from jpweb.store.database.scan_limits import limit_scans
from jpweb.web import notice_text
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.web.http import Request

View = Callable[..., Any]

#: Keys that a limit tracks; above it the oldest is evicted.
MAX_KEYS = 10_000
#: Characters of the reason for which a request was refused, in the log: it may name a host.
MAX_REASON_CHARS = 200
#: Bits of an IPv6 address that name its network: one subscriber has all addresses of a /64.
_IPV6_NETWORK_BITS = 64


class RateLimit:
    """Sliding-window rate limit: admits ``count`` events of a key in ``seconds``."""

    def __init__(
        self, count: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.count = count
        self.seconds = seconds
        self._clock = clock
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def admit_event(self, key: Hashable) -> int:
        """Count an event and return 0, or return the seconds until one is admitted."""
        current_time = self._clock()
        times = self._times.setdefault(key, deque())
        while times and times[0] <= current_time - self.seconds:
            times.popleft()
        if len(times) >= self.count:
            return math.ceil(times[0] + self.seconds - current_time)
        times.append(current_time)
        if len(self._times) > MAX_KEYS:
            self._times.popitem(last=False)
        return 0

    def clear(self) -> None:
        """Remove all events."""
        self._times.clear()


#: Refused links, passkeys and codes per address: 20 a minute.
REFUSED_LINK_LIMIT = RateLimit(20, 60)
#: Lines about requests that Django refuses, per address: 20 a minute.
REFUSED_REQUEST_LIMIT = RateLimit(20, 60)
#: Sign-ins with an identity provider per address: 60 a minute. Each sends it requests.
SIGN_ON_LIMIT = RateLimit(60, 60)
#: Searches per person: 120 a minute.
SEARCH_LIMIT = RateLimit(120, 60)
#: Words in *Go to* and the list, per person: 400 a minute. While a person types, the scripts send
#: a request every 150 ms at most.
TYPING_LIMIT = RateLimit(400, 60)
#: WebSocket connections per person: 240 a minute.
SOCKET_LIMIT = RateLimit(240, 60)


def make_refusal(reason: str, seconds: int) -> HttpResponse:
    """Return the page with status 429; the reason says when to try again."""
    text = render_to_string("429.html", {"reason": reason})
    return HttpResponse(text, status=429, headers={"Retry-After": str(seconds)})


def limit_searches(view: View) -> View:
    """Limit how often one person calls the view, and for how long its queries search.

    Apply it below the access rule's decorator.
    """
    return _limit_view(view, SEARCH_LIMIT, lambda _request: True)


def limit_words(
    read_words: Callable[[Request], str], limit: RateLimit = SEARCH_LIMIT
) -> Callable[[View], View]:
    """Limit how often one person calls the view with words to look for, as ``limit_searches``."""
    return lambda view: _limit_view(view, limit, lambda request: bool(read_words(request)))


def _limit_view(view: View, limit: RateLimit, is_counted: Callable[[Request], bool]) -> View:
    def refuse_search(request: Request) -> HttpResponse | None:
        seconds = limit.admit_event(request.user.pk) if is_counted(request) else 0
        reason = notice_text.TOO_MANY_SEARCHES.format(count=limit.count, seconds=seconds)
        return make_refusal(reason, seconds) if seconds else None

    if iscoroutinefunction(view):

        @wraps(view)
        async def limited_async_view(request: Request, **keys: Any) -> HttpResponseBase:
            response: HttpResponseBase = refuse_search(request) or await view(request, **keys)
            return response

        return limited_async_view

    @wraps(view)
    def limited_view(request: Request, **keys: Any) -> HttpResponseBase:
        if refusal := refuse_search(request):
            return refusal
        response: HttpResponseBase
        if not is_counted(request):
            response = view(request, **keys)
            return response
        with limit_scans():
            response = view(request, **keys)
        return response

    return limited_view


def refuse_link(request: HttpRequest, event: str, **log_fields: object) -> HttpResponse | None:
    """Count and log a refused link; return the 429 page for a browser above the limit.

    What is above the limit is not logged, so that strangers cannot fill the log.
    """
    if seconds := REFUSED_LINK_LIMIT.admit_event(make_address_key(request)):
        reason = notice_text.TOO_MANY_INVALID_LINKS
        return make_refusal(reason.format(seconds=seconds), seconds)
    security_log.log_event(event, request, **log_fields)
    return None


class RefusedRequestHandler(logging.Handler):
    """Writes one line of the security log for a request that Django refuses, up to a limit.

    A wrong host, too many fields or a missing CSRF token: strangers send these, and Django logs a
    traceback of 1 to 4 kB for each of the first two.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Count and log the request of a record of ``django.security``."""
        request: HttpRequest | None = getattr(record, "request", None)
        if request is None:
            security_log.log_event("request refused", reason=record.getMessage()[:MAX_REASON_CHARS])
        elif not REFUSED_REQUEST_LIMIT.admit_event(make_address_key(request)):
            # Without the person: whoever is signed in would be read from the database here.
            security_log.log_event(
                "request refused",
                None,
                **{"from": security_log.find_client_address(request)},
                reason=record.getMessage()[:MAX_REASON_CHARS],
            )


def refuse_sign_on(request: HttpRequest) -> HttpResponse | None:
    """Count a sign-in with an identity provider; return the 429 page above the limit."""
    if seconds := SIGN_ON_LIMIT.admit_event(make_address_key(request)):
        return make_refusal(notice_text.TOO_MANY_SIGN_ONS.format(seconds=seconds), seconds)
    return None


def make_address_key(request: HttpRequest) -> str:
    """Return the key by which a browser without a sign-in is counted.

    It is the address, of IPv6 the /64. IPv4 in IPv6 (``::ffff:192.0.2.1``) counts as IPv4.
    """
    text = security_log.find_client_address(request)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    host_bits = address.max_prefixlen - _IPV6_NETWORK_BITS
    return str(ipaddress.IPv6Address(int(address) >> host_bits << host_bits))
