"""The notification library: which addresses it takes, what is shown of them, and sending.

An address may hold a key, so it is in nothing that is returned here but its own form for showing.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime.duties import destinations

#: Seconds that a message may take. One that takes longer may still arrive.
PATIENCE = 15.0
#: Seconds for a connection, and for each piece of a reply.
SOCKET = 8.0
#: Characters of an address, and recipients in one.
LENGTH, RECIPIENTS = 2_000, 10
PORTS = 65_535
#: Arguments with which the library would read files of this machine, or what they name elsewhere.
REFUSED = frozenset({"attach", "pgp", "pgppub", "pgpprv", "template", "wkd"})
#: Arguments that are jpweb's to decide.
DECIDED = frozenset(
    {"cto", "emojis", "format", "optional", "overflow", "redirect", "retry", "rto", "store", "wait"}
)

#: What is told of every message that was not taken, for whatever reason.
UNDELIVERED = "The service is unreachable or rejected the message. Private networks are blocked."
#: The messages on their way, by the key of their address.
_sending: set[int] = set()


class BadAddress(Exception):
    """What was typed is no address; the message is for who typed it, and may repeat it."""


def check(url: str) -> None:
    """Refuse what the library cannot send to, and what is not allowed. Raises BadAddress."""
    _read(url)


def shown(url: str) -> str:
    """Return what may be shown of an address: the service and who gets it, with no key."""
    try:
        return str(_read(url).url(privacy=True)).partition("?")[0]
    except BadAddress:
        return f"{url.partition('://')[0][:20]}://…"


def usable(url: str) -> bool:
    """Tell whether messages can be sent to an address that was taken before."""
    try:
        _read(url)
    except BadAddress:
        return False
    return True


def busy(key: int) -> bool:
    """Tell whether a message to the address of this key is still on its way."""
    return key in _sending


@sensitive_variables("url")
async def send(key: int, url: str, title: str, body: str) -> str:
    """Send plain text; returns why it failed, in words without the address, or nothing.

    It has a thread of its own, which nothing waits for once PATIENCE is over; until that ends the
    address is ``busy``, and the caller sends it no more.
    """
    loop = asyncio.get_running_loop()
    over: asyncio.Future[str] = loop.create_future()

    def tell(problem: str) -> None:
        if not over.done():
            over.set_result(problem)

    def work() -> None:
        problem = "The notification library failed."
        try:
            problem = _deliver(url, title, body)
        finally:
            _sending.discard(key)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(tell, problem)

    _sending.add(key)
    threading.Thread(target=work, daemon=True, name="carrier").start()
    try:
        return await asyncio.wait_for(over, PATIENCE)
    except TimeoutError:
        return f"No response within {PATIENCE:g} seconds."


def _deliver(url: str, title: str, body: str) -> str:
    library = _library()
    try:
        plugin = _read(url)
    except BadAddress:
        return "This channel can no longer be used. Remove it and add it again."
    sender = library.Apprise(asset=plugin.asset)
    sender.add(plugin)
    with destinations.guarded():
        result = sender.notify(body, title=title, body_format=library.NotifyFormat.TEXT)
    # Neither what the service said nor its status: an address is no way to ask what is there.
    return "" if result else UNDELIVERED


@sensitive_variables()
def _read(typed: str) -> Any:
    """Return the library's own object for an address. Raises BadAddress."""
    url, library = _plain(typed), _library()
    found: dict[str, Any] = library.plugins.url_to_dict(url) or {}
    schema = str(found.get("schema") or url.partition("://")[0]).lower()
    if schema not in settings.NOTIFY_SCHEMAS:
        allowed = ", ".join(settings.NOTIFY_SCHEMAS)
        raise BadAddress(f"“{schema[:40]}” is not supported here. Use one of: {allowed}.")
    arguments = {str(name).lower() for name in found.get("qsd") or ()}
    if arguments & REFUSED:
        names = ", ".join(f"“{name}”" for name in sorted(arguments & REFUSED))
        raise BadAddress(f"The URL can't set {names}.")
    if (found.get("port") or 0) > PORTS:
        raise BadAddress(f"Invalid port: {found['port']}.")
    for name in DECIDED:
        found.pop(name, None)
    try:
        plugin = found and library.Apprise.instantiate(found, _asset(), None, False)
    except (TypeError, ValueError) as problem:
        raise BadAddress(f"{str(problem).rstrip('. ')}. {_shape(schema)}") from None
    if not plugin:
        raise BadAddress(f"The URL is incomplete. {_shape(schema)}")
    _check_destination(plugin)
    plugin.socket_connect_timeout = plugin.socket_read_timeout = SOCKET
    plugin.logger = _own_log()
    return plugin


def _check_destination(plugin: Any) -> None:
    """Refuse too many recipients, and hosts of private networks. Raises BadAddress."""
    for host in {getattr(plugin, name, None) or "" for name in ("host", "smtp_host")}:
        if destinations.is_refused_literal(host):
            raise BadAddress(f"{host[:100]} is in a private network, which is blocked.")
    if len(plugin) > RECIPIENTS:
        raise BadAddress(f"Too many recipients: {len(plugin)}. The limit is {RECIPIENTS}.")


def _own_log() -> logging.Logger:
    """Return a log of one message's own, which goes nowhere: the library reports it as a result."""
    own = logging.Logger("carrier", logging.WARNING)  # noqa: LOG001  it has no parent on purpose
    own.addHandler(logging.NullHandler())
    return own


def _plain(typed: str) -> str:
    url = typed.strip()
    if not url:
        raise BadAddress("Enter a URL.")
    if len(url) > LENGTH:
        raise BadAddress(f"A URL can have at most {LENGTH} characters.")
    if not url.isprintable() or re.search(r"\s", url):
        raise BadAddress("A URL can't contain spaces. Add channels one by one.")
    schema, mark, rest = url.partition("://")
    if not schema or not mark:
        raise BadAddress("The URL must start with a service, such as ntfy:// or slack://.")
    if not rest.strip("/"):
        raise BadAddress(f"The URL ends after {schema[:40]}://.")
    return url


def _asset() -> Any:
    """Return what the library says of jpweb, and how it behaves: no file, no redirect, no hurry."""
    return _library().AppriseAsset(
        app_id="jpweb",
        app_desc="jpweb",
        app_url=settings.PUBLIC_URL,
        image_url_mask="",
        image_url_logo="",
        image_path_mask="",
        async_mode=False,
        http_redirects=False,
        interpret_emojis=False,
        pgp_autogen=False,
        pem_autogen=False,
        storage_mode="memory",
        service_timeout=0,
    )


def _shape(schema: str) -> str:
    """Say how an address of a service is written."""
    plugin = _library().plugins.N_MGR[schema]
    templates: Iterable[str] = plugin.templates[:2]
    written = " or ".join(each.replace("{schema}", schema) for each in templates)
    return f"Format of {plugin.service_name}: {written}."


def _library() -> Any:
    """Return the library, loaded when it is first needed: it has 190 modules, for few people."""
    import apprise  # noqa: PLC0415  as it says

    return apprise
