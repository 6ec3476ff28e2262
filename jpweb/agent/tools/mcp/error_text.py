"""Texts of errors: in one line, redacted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

from jpweb.agent.config import McpServer
from jpweb.agent.redaction import SecretAnswer, redact_text

_MAX_CHARS = 500
#: A path segment of at least this length is likely to be a key.
_MIN_KEY_CHARS = 16


def to_single_line(text: str, secrets: Iterable[SecretAnswer] = ()) -> str:
    """Return the text in one line of limited length, redacted before it is cut."""
    secrets = tuple(secrets)
    # Redact before and after: a secret may hold whitespace, or be split over the joined lines.
    return redact_text(secrets, " ".join(redact_text(secrets, text).split()))[:_MAX_CHARS]


def find_first_error(error: BaseException) -> BaseException:
    """Return the error; of a group its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def list_server_secrets(server: McpServer) -> tuple[SecretAnswer, ...]:
    """Return the secrets that a server is given: variables, headers, parts of its address."""
    values = [os.environ[name] for name in server.variables if name in os.environ]
    for header in server.headers.values():
        values += [header.strip(), *header.split()]
    if server.url is not None:
        values += _list_url_secrets(server.url)
    return tuple(SecretAnswer(value) for value in values)


def _list_url_secrets(url: str) -> list[str]:
    try:
        address = urlsplit(url)
    except ValueError:
        return [url]
    parts = [address.netloc.rpartition("@")[0], address.query, address.fragment]
    parts += [address.username or "", address.password or ""]
    parts += [value for _, value in parse_qsl(address.query)]
    return parts + [part for part in address.path.split("/") if len(part) >= _MIN_KEY_CHARS]
