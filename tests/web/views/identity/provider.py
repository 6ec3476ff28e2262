"""A real OpenID Connect provider in this process, and a person at its sign-in page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests
from django.test import Client

from jpweb.identity_providers import IdentityProvider
from tests.web.reading import parse_page


class Provider:
    """A provider at a port of this machine; ``settings`` is how jpweb knows it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.settings = IdentityProvider("company", "Company", url, "jpweb", "a-client-secret")

    def set_claims(self, subject: str, **claims: Any) -> None:
        requests.put(f"{self.url}/users/{subject}", json=claims, timeout=10).raise_for_status()

    def authorize(self, address: str, subject: str, **form: str) -> str:
        """Sign in at the address that jpweb leads to; return the path that it leads back to."""
        response = requests.post(
            address, data={"sub": subject} | form, timeout=10, allow_redirects=False
        )
        location = urlsplit(response.headers["Location"])
        return f"{location.path}?{location.query}"

    def sign_on(
        self,
        client: Client,
        subject: str,
        start: str = "/sign-in/with/company",
        next_url: str = "",
        **form: str,
    ) -> Any:
        """Go from jpweb to the provider and back; return jpweb's last response."""
        page = parse_page(client.post(start, {"next": next_url} if next_url else {}))
        address = page.find_one(rel="noreferrer")["href"]
        return client.get(self.authorize(str(address), subject, **form))


@contextmanager
def run_provider() -> Iterator[Provider]:
    """Serve a provider until the end of the block."""
    with warnings.catch_warnings(record=True):  # authlib says on import that it is deprecated
        from oidc_provider_mock import run_server_in_thread  # noqa: PLC0415  warns

    with run_server_in_thread() as server:
        yield Provider(f"http://localhost:{server.server_port}")
