"""Adapter to Apprise: validates notification addresses, redacts them and sends messages.

An address may hold a key, so functions here return it only in its redacted form.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from jpweb.number_settings import MAX_PORT
from jpweb.runtime.notifications import allowed_destinations, sending_threads

#: Seconds for a connection, and for each piece of a reply.
SOCKET_TIMEOUT_SECONDS = 8.0
#: Characters of an address, and recipients in one.
MAX_ADDRESS_CHARS, MAX_RECIPIENTS = 2_000, 10
#: Query arguments with which Apprise would read local files or remote ones (SSRF).
REFUSED_ARGUMENTS = frozenset({"attach", "pgp", "pgppub", "pgpprv", "template", "wkd"})
#: Query arguments whose values jpweb decides, such as timeouts and redirects.
FIXED_ARGUMENTS = frozenset(
    {"cto", "emojis", "format", "optional", "overflow", "redirect", "retry", "rto", "store", "wait"}
)

#: The one error text of a failed message, for all causes.
UNDELIVERED_TEXT = (
    "The service is unreachable or rejected the message. Private networks are blocked."
)


class InvalidAddress(Exception):
    """The typed address is invalid; the message is for its author and may repeat it.

    ``log_text`` gives the reason without a part of the address that may be a key.
    """

    def __init__(self, text: str, log_text: str = "") -> None:
        super().__init__(text)
        self.log_text = log_text or text


def check_address(url: str) -> None:
    """Validate an address. Raises InvalidAddress."""
    _parse_address(url)


@sensitive_variables("url")
def describe_fault(url: str) -> str:
    """Return why an address of the settings is invalid, for logs; an empty text if it is valid."""
    try:
        _parse_address(url)
    except InvalidAddress as error:
        return error.log_text
    return ""


def list_services() -> list[str]:
    """Return the words of JPWEB_NOTIFY_SCHEMAS that name a service of Apprise, in their order."""
    known_schemas = _load_apprise().plugins.N_MGR.schemas()
    return [schema for schema in settings.NOTIFY_SCHEMAS if schema in known_schemas]


def redact_address(url: str) -> str:
    """Return an address without its keys: the service and the recipient."""
    try:
        return str(_parse_address(url).url(privacy=True)).partition("?")[0]
    except InvalidAddress:
        return f"{url.partition('://')[0][:20]}://…"


def is_usable(url: str) -> bool:
    """Return whether a stored address is still valid."""
    try:
        _parse_address(url)
    except InvalidAddress:
        return False
    return True


@sensitive_variables("url")
async def send_message(key: int, url: str, title: str, body: str) -> str:
    """Send plain text; return why it failed, without the address, or an empty text."""
    return await sending_threads.run_in_thread(
        ("destination", key), partial(_deliver_message, url, title, body)
    )


def _deliver_message(url: str, title: str, body: str) -> str:
    library = _load_apprise()
    try:
        plugin = _parse_address(url)
    except InvalidAddress:
        return "This channel can no longer be used. Remove it and add it again."
    sender = library.Apprise(asset=plugin.asset)
    sender.add(plugin)
    with allowed_destinations.refuse_private_addresses():
        result = sender.notify(body, title=title, body_format=library.NotifyFormat.TEXT)
    # Neither the service's reply nor its status: an address must not serve to probe hosts (SSRF).
    return "" if result else UNDELIVERED_TEXT


@sensitive_variables()
def _parse_address(address_text: str) -> Any:
    """Parse an address into an Apprise plugin. Raises InvalidAddress."""
    url, library = _clean_address(address_text), _load_apprise()
    fields: dict[str, Any] = library.plugins.url_to_dict(url) or {}
    schema = str(fields.get("schema") or url.partition("://")[0]).lower()
    services = list_services()
    if schema not in services:
        raise InvalidAddress(
            f"“{schema[:40]}” is not supported here. Use one of: {', '.join(services)}."
        )
    arguments = {str(name).lower() for name in fields.get("qsd") or ()}
    if arguments & REFUSED_ARGUMENTS:
        names = ", ".join(f"“{name}”" for name in sorted(arguments & REFUSED_ARGUMENTS))
        raise InvalidAddress(f"The URL can't set {names}.")
    if (fields.get("port") or 0) > MAX_PORT:
        raise InvalidAddress(f"Invalid port: {fields['port']}.")
    for name in FIXED_ARGUMENTS:
        fields.pop(name, None)
    try:
        plugin = fields and library.Apprise.instantiate(fields, _make_asset(), None, False)
    except (TypeError, ValueError) as error:
        syntax = _describe_syntax(schema)
        text = f"{str(error).rstrip('. ')}. {syntax}"
        raise InvalidAddress(text, f"The URL is invalid. {syntax}") from None
    if not plugin:
        raise InvalidAddress(f"The URL is incomplete. {_describe_syntax(schema)}")
    _check_destination(plugin)
    plugin.socket_connect_timeout = plugin.socket_read_timeout = SOCKET_TIMEOUT_SECONDS
    plugin.logger = _make_silent_logger()
    return plugin


def _check_destination(plugin: Any) -> None:
    """Refuse too many recipients and hosts of private networks. Raises InvalidAddress."""
    for host in {getattr(plugin, name, None) or "" for name in ("host", "smtp_host")}:
        if allowed_destinations.is_refused_literal(host):
            raise InvalidAddress(f"{host[:100]} is in a private network, which is blocked.")
    if len(plugin) > MAX_RECIPIENTS:
        raise InvalidAddress(f"Too many recipients: {len(plugin)}. The limit is {MAX_RECIPIENTS}.")


def _make_silent_logger() -> logging.Logger:
    """Return a logger of one message that discards its records: Apprise returns the result."""
    silent_logger = logging.Logger("carrier", logging.WARNING)  # noqa: LOG001  it has no parent on purpose
    silent_logger.addHandler(logging.NullHandler())
    return silent_logger


def _clean_address(address_text: str) -> str:
    url = address_text.strip()
    if not url:
        raise InvalidAddress("Enter a URL.")
    if len(url) > MAX_ADDRESS_CHARS:
        raise InvalidAddress(f"A URL can have at most {MAX_ADDRESS_CHARS} characters.")
    if not url.isprintable() or re.search(r"\s", url):
        raise InvalidAddress("A URL can't contain spaces. Add channels one by one.")
    schema, separator, remainder = url.partition("://")
    if not schema or not separator:
        raise InvalidAddress("The URL must start with a service, such as ntfy:// or slack://.")
    if not remainder.strip("/"):
        raise InvalidAddress(f"The URL ends after {schema[:40]}://.")
    return url


def _make_asset() -> Any:
    """Return Apprise's settings: name jpweb, no files, no redirects, no delays."""
    return _load_apprise().AppriseAsset(
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


def _describe_syntax(schema: str) -> str:
    """Return how addresses of a service are written."""
    plugin = _load_apprise().plugins.N_MGR[schema]
    templates: Iterable[str] = plugin.templates[:2]
    syntax = " or ".join(template.replace("{schema}", schema) for template in templates)
    return f"Format of {plugin.service_name}: {syntax}."


def _load_apprise() -> Any:
    """Import Apprise on first use: it has 190 modules and few installations need it."""
    import apprise  # noqa: PLC0415  see the docstring

    return apprise
