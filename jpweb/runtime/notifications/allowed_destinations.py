"""Allowed destinations of notifications: public addresses, and private ones from the settings.

The guard filters the result of the connecting call's own name resolution, so no second lookup
can return another address (DNS rebinding). With a proxy in the environment (``HTTPS_PROXY``)
the proxy decides.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings

_resolve_unchecked: Callable[..., list[Any]] = socket.getaddrinfo
_is_guarded: ContextVar[bool] = ContextVar("is_guarded", default=False)


@contextmanager
def refuse_private_addresses() -> Iterator[None]:
    """Refuse private addresses to every connection made in the block and its context."""
    _install_resolver()
    token = _is_guarded.set(True)
    try:
        yield
    finally:
        _is_guarded.reset(token)


def is_refused_literal(host: str) -> bool:
    """Return whether a host, written as a number or as localhost, is refused."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return not _is_allowed(name, "127.0.0.1")
    try:  # the resolver reads decimal, octal and hexadecimal numbers of one to four parts
        answers = _resolve_unchecked(
            name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except (OSError, UnicodeError):
        return False
    return not all(_is_allowed(name, str(answer[4][0])) for answer in answers)


def _install_resolver() -> None:
    if socket.getaddrinfo is not _resolve_checked:
        socket.getaddrinfo = _resolve_checked


def _resolve_checked(host: Any, *args: Any, **options: Any) -> list[Any]:
    """Resolve as ``socket.getaddrinfo``; inside the guard, to allowed addresses only."""
    answers = _resolve_unchecked(host, *args, **options)
    if not _is_guarded.get():
        return answers
    name = host.decode(errors="replace") if isinstance(host, bytes) else str(host or "localhost")
    allowed_answers = [answer for answer in answers if _is_allowed(name.lower(), str(answer[4][0]))]
    if not allowed_answers:
        raise socket.gaierror(socket.EAI_NONAME, "it leads to a private network")
    return allowed_answers


def _is_allowed(host: str, address: str) -> bool:
    from apprise.utils.http import is_public_ip_address  # noqa: PLC0415  190 modules, seldom used

    bare_address = address.partition("%")[0]
    is_public: bool = is_public_ip_address(bare_address)  # type: ignore[no-untyped-call]  # apprise
    return is_public or any(
        _matches_destination(destination, host, bare_address)
        for destination in settings.NOTIFY_PRIVATE
    )


def _matches_destination(destination: str, host: str, address: str) -> bool:
    try:
        return ip_address(address) in ip_network(destination, strict=False)
    except ValueError:
        return destination == host
