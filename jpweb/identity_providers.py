"""OpenID Connect providers for single sign-on, read from the environment by ``settings.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

#: Names are part of addresses and of variables.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,29}")
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
#: The length of the column that holds an issuer.
MAX_URL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """A provider that signs people in. ``url`` is its issuer, ``title`` its name on pages."""

    name: str
    title: str
    url: str
    client_id: str
    client_secret: str = field(repr=False)


def read_providers(names_text: str, environment: Mapping[str, str]) -> dict[str, IdentityProvider]:
    """Return the providers that ``JPWEB_OIDC`` names. Raises ImproperlyConfigured with one line."""
    names = [name.strip() for name in names_text.split(",") if name.strip()]
    providers = {name: _read_provider(name, environment) for name in names}
    issuers = [provider.url for provider in providers.values()]
    for name, provider in providers.items():
        if issuers.count(provider.url) > 1:
            raise ImproperlyConfigured(
                f"{_name_variable(name, 'URL')} is that of another provider of JPWEB_OIDC, too. "
                "Name each provider once."
            )
    return providers


def _read_provider(name: str, environment: Mapping[str, str]) -> IdentityProvider:
    if not _NAME.fullmatch(name):
        raise ImproperlyConfigured(
            f"JPWEB_OIDC must hold short names such as company, of small letters, digits and "
            f"hyphens, separated by commas, not “{name}”."
        )

    def read(part: str, meaning: str) -> str:
        variable = _name_variable(name, part)
        if not (value := environment.get(variable, "").strip()):
            raise ImproperlyConfigured(
                f"JPWEB_OIDC names “{name}”. Set {variable}, too: {meaning}."
            )
        return value

    url = read("URL", "the provider's address, such as https://sso.example.org/realms/staff")
    return IdentityProvider(
        name=name,
        title=environment.get(_name_variable(name, "TITLE"), "").strip() or name.capitalize(),
        url=_check_url(_name_variable(name, "URL"), url),
        client_id=read("CLIENT", "the client id that the provider gave jpweb"),
        client_secret=read("SECRET", "the client secret that the provider gave jpweb"),
    )


def _name_variable(name: str, part: str) -> str:
    return f"JPWEB_OIDC_{name.upper().replace('-', '_')}_{part}"


def _check_url(variable: str, text: str) -> str:
    """Return an issuer without discovery's path. Raises ImproperlyConfigured with one line.

    An ID token's signature is not checked where TLS authenticates its sender (OpenID Connect Core,
    3.1.3.7), so that plain HTTP is for this machine alone.
    """
    issuer = text.removesuffix("/.well-known/openid-configuration").rstrip("/")
    try:
        url = urlsplit(issuer)
        is_safe = url.scheme == "https" or (
            url.scheme == "http" and url.hostname in _LOOPBACK_HOSTS
        )
        is_whole = url.hostname and not url.query and not url.fragment and "@" not in url.netloc
        if is_safe and is_whole and len(issuer) <= MAX_URL_CHARACTERS:
            _ = url.port  # raises ValueError for an invalid port
            return issuer
    except ValueError:
        pass
    raise ImproperlyConfigured(
        f"{variable} must be the provider's https address, such as "
        f"https://sso.example.org/realms/staff, not “{text}”."
    )
