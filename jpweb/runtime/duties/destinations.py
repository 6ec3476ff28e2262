"""Where notifications may go: public addresses, and private ones that the operator names.

A name is resolved once, in the call that connects; what is refused is left out of its answer. So
the connection goes to an address that was checked, whichever library makes it, and a name that
resolves otherwise a moment later gains nothing. Through a proxy of the environment
(``HTTPS_PROXY``) the proxy decides.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings

_resolve: Callable[..., list[Any]] = socket.getaddrinfo
_is_guarded: ContextVar[bool] = ContextVar("is_guarded", default=False)


@contextmanager
def guarded() -> Iterator[None]:
    """Refuse private addresses to every connection that is made in the block, in its context."""
    _install()
    token = _is_guarded.set(True)
    try:
        yield
    finally:
        _is_guarded.reset(token)


def is_refused_literal(host: str) -> bool:
    """Tell whether a host, written as a number or as this machine's name, is refused."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return not _is_allowed(name, "127.0.0.1")
    try:  # as the resolver reads numbers: decimal, octal, hexadecimal, of one to four parts
        answers = _resolve(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return not all(_is_allowed(name, str(answer[4][0])) for answer in answers)


def _install() -> None:
    if socket.getaddrinfo is not _resolve_checked:
        socket.getaddrinfo = _resolve_checked


def _resolve_checked(host: Any, *args: Any, **options: Any) -> list[Any]:
    """Resolve as ``socket.getaddrinfo``; where it is guarded, to allowed addresses alone."""
    answers = _resolve(host, *args, **options)
    if not _is_guarded.get():
        return answers
    name = host.decode(errors="replace") if isinstance(host, bytes) else str(host or "localhost")
    allowed = [answer for answer in answers if _is_allowed(name.lower(), str(answer[4][0]))]
    if not allowed:
        raise socket.gaierror(socket.EAI_NONAME, "it leads to a private network")
    return allowed


def _is_allowed(host: str, address: str) -> bool:
    from apprise.utils.http import is_public_ip_address  # noqa: PLC0415  190 modules, seldom used

    plain = address.partition("%")[0]
    is_public: bool = is_public_ip_address(plain)  # type: ignore[no-untyped-call]  # apprise
    return is_public or any(_names(allowed, host, plain) for allowed in settings.NOTIFY_PRIVATE)


def _names(allowed: str, host: str, address: str) -> bool:
    try:
        return ip_address(address) in ip_network(allowed, strict=False)
    except ValueError:
        return allowed == host
