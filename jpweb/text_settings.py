"""Settings that are texts: addresses, folders, lists."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import idna
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port
from environ import Env

from jpweb.installation import resolve_path

T = TypeVar("T")
#: Names of the variables that the settings read, whether they are set or not.
READ_NAMES: set[str] = set()
#: Tag of the system checks of settings. Short commands run these alone: Django's check of addresses
#: loads every view, which was half of their 1.4 s of processor time.
CHECK_TAG = "settings"
_ON, _OFF = ("true", "on", "yes", "1"), ("false", "off", "no", "0")
_SQLITE, _POSTGRESQL = "django.db.backends.sqlite3", "django.db.backends.postgresql"


def _find_value(name: str) -> str | None:
    READ_NAMES.add(name)
    return os.environ.get(name)


def read_text(name: str, default: str = "") -> str:
    """Return a text from the environment; the default where it is unset or empty.

    Every character counts, also a leading dollar sign, which django-environ takes for a reference.
    Raises ImproperlyConfigured with one line, which repeats no key.
    """
    text = _find_value(name) or default
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ImproperlyConfigured(f"{name} is not text in UTF-8.") from None
    return text


def read_list(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return texts, separated by commas; an empty variable means none."""
    text = _find_value(name)
    if text is None:
        return [*default]
    return [part.strip() for part in text.split(",") if part.strip()]


def read_hosts(name: str, default: Sequence[str]) -> list[str]:
    """Return hosts as browsers send them, or as Django takes several: ``*``, ``.example.org``.

    An empty variable means the default. Raises ImproperlyConfigured with one line.
    """
    return [_parse_host(name, text) for text in read_list(name)] or [*default]


def _parse_host(name: str, text: str) -> str:
    host = text.lower().removesuffix(".")
    try:
        if not host.isascii():
            bare_host = idna.encode(host.removeprefix("."), uts46=True).decode()
            host = f".{bare_host}" if host.startswith(".") else bare_host
    except idna.IDNAError:
        host = ""
    if not host or (host != "*" and split_domain_port(host) != (host, "")):
        raise ImproperlyConfigured(
            f"{name} must hold names such as jp.example.org, without https:// and port, "
            f"not “{text}”."
        )
    return host


def read_destinations(name: str) -> tuple[str, ...]:
    """Return hosts and networks. Raises ImproperlyConfigured with one line."""
    destinations = tuple(text.lower() for text in read_list(name))
    for destination in destinations:
        try:
            if "/" in destination:
                ip_network(destination, strict=False)
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} must hold hosts, and networks such as 10.0.0.0/8, not “{destination}”."
            ) from None
    return destinations


def read_switch(name: str, *, default: bool) -> bool:
    """Return whether a setting is on. Raises ImproperlyConfigured with one line."""
    text = read_text(name).strip().lower()
    if text and text not in (*_ON, *_OFF):
        raise ImproperlyConfigured(f"{name} must be true or false, not “{text}”.")
    return text in _ON if text else default


def read_log_level(name: str) -> str:
    """Return the name of a level of logging. Raises ImproperlyConfigured with one line."""
    level = read_text(name, "WARNING").strip().upper()
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(
            f"{name} must be DEBUG, INFO, WARNING, ERROR or CRITICAL, not “{level}”."
        )
    return level


def read_site_url(name: str) -> SplitResult | None:
    """Return a site's address from the environment, its host as browsers send it.

    Raises ImproperlyConfigured with one line.
    """
    text = read_text(name).strip().rstrip("/").lower()
    if not text:
        return None
    try:
        return _parse_site_url(text)
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be an address such as https://jp.example.org, with nothing behind it, "
            f"not “{text}”."
        ) from None


def _parse_site_url(text: str) -> SplitResult:
    """Return the parts of an address; an international name in ASCII (IDNA). Raises ValueError."""
    url = urlsplit(text)
    is_whole = f"{url.scheme}://{url.netloc}" == text and "@" not in text
    if url.scheme not in ("http", "https") or not url.hostname or not is_whole:
        raise ValueError("no address of a site")
    if not url.netloc.isascii():
        host = idna.encode(url.hostname, uts46=True).decode()
        url = url._replace(netloc=url.netloc.replace(url.hostname, host))
    _ = url.port  # raises ValueError for an invalid port
    if not split_domain_port(url.netloc)[0]:  # Django would answer each request with 400
        raise ValueError("no name of a host")
    return url


def parse_address(name: str, text: str, parse: Callable[[str], T], example: str) -> T:
    """Return a service's address as parsed. Raises ImproperlyConfigured with one line.

    The line does not repeat the address, which may hold a password.
    """
    try:
        return parse(text)
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is not an address such as {example}. In a password, write special characters "
            "by their code, such as %2F for “/”."
        ) from None


def read_database(name: str, file: Path) -> dict[str, Any]:
    """Return Django's settings of the database of an address; by default, of SQLite's file.

    Raises ImproperlyConfigured with one line.
    """
    url = read_text(name)
    if not url:
        return {"ENGINE": _SQLITE, "NAME": str(file)}  # as an address it would need escapes
    return parse_address(name, url, _parse_database, "postgres://USER@HOST/NAME")


def _parse_database(url: str) -> dict[str, Any]:
    """Return Django's settings of SQLite or PostgreSQL. Raises ValueError."""
    scheme, _, address = url.partition("://")
    host, _, path = address.partition("/")
    engine = Env.DB_SCHEMES.get(scheme.lower())
    is_cut = "@" in path.partition("?")[0] and "@" not in host  # by a slash of the password
    if engine not in (_SQLITE, _POSTGRESQL) or (engine == _POSTGRESQL and is_cut):
        raise ValueError("neither SQLite nor PostgreSQL")
    database: dict[str, Any] = Env.db_url_config(url)
    return database


def read_folders(name: str, default: str) -> tuple[Path, ...]:
    """Return folders, separated by colons; an empty variable means none.

    Raises ImproperlyConfigured for a relative one, and for a loop of links.
    """
    text = _find_value(name)
    parts = (default if text is None else text).split(os.pathsep)
    paths = [Path(part) for part in parts if part]
    for path in paths:
        if not path.is_absolute():
            raise ImproperlyConfigured(f"{name} must hold whole paths, from “/” on, not “{path}”.")
    return tuple(_resolve_path(name, path) for path in paths)


def read_path(name: str, default: Path) -> Path:
    """Return the whole path of a file or folder, without links.

    Raises ImproperlyConfigured with one line.
    """
    return _resolve_path(name, Path(_find_value(name) or default))


def _resolve_path(name: str, path: Path) -> Path:
    try:
        return resolve_path(path)
    except OSError:
        raise ImproperlyConfigured(
            f"{name} must be a path without unknown users and loops of links, not “{path}”."
        ) from None
