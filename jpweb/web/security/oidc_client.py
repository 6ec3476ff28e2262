"""OpenID Connect client: sends browsers to a provider, and verifies the reply.

Authorization code flow with PKCE and a state that is bound to the session, by django-allauth's
adapter. allauth's views, account models and signals are not used: who may come in, and under which
session, is decided here. Imported on the first use, because it loads ``requests`` (90 ms).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import requests
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.contrib.sessions.backends.base import UpdateError
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.urls import reverse

from jpweb.identity_providers import IdentityProvider
from jpweb.store import db_text
from jpweb.store.people.identities import ProvenIdentity
from jpweb.web import notice_text

#: The length of the column that holds an address.
MAX_EMAIL_CHARACTERS = 254
#: Errors that allauth raises for a reply that breaks the protocol.
_INVALID_REPLY = (
    *(OAuth2Error, ImproperlyConfigured),  # the latter for a subject that is too long
    *(ValueError, KeyError, TypeError, AttributeError),  # JSON of another shape
)


class SignOnFailed(Exception):
    """The provider did not prove an identity; says why. ``status`` is that of the response."""

    def __init__(self, text: str, provider: IdentityProvider, status: int = 403) -> None:
        super().__init__(text.format(provider=provider.title))
        self.status = status


class SignOn(NamedTuple):
    """A finished sign-on; ``person_id`` is the person who connects the identity; None: it signs in.

    ``next_url`` is the page of this site to open once the person is signed in.
    """

    identity: ProvenIdentity
    person_id: int | None
    next_url: str


class _Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no types
    """allauth's adapter of one provider of the settings."""

    def __init__(self, request: HttpRequest, provider: _Provider) -> None:
        super().__init__(request, provider.sub_id)
        self._provider = provider

    def get_provider(self) -> _Provider:
        return self._provider

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("sign-on-callback", args=[app.key]))

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's metadata. Raises ValueError where they are another issuer's."""
        config: dict[str, Any] = super().openid_config
        if str(config["issuer"]).rstrip("/") != self._provider.app.provider_id:
            raise ValueError("issuer")
        return config


class _Provider(OpenIDConnectProvider):  # type: ignore[misc]  # as above
    def get_oauth2_adapter(self, request: HttpRequest) -> _Adapter:
        return _Adapter(request, self)


def make_address(
    request: HttpRequest, provider: IdentityProvider, person_id: int | None, next_url: str
) -> str:
    """Return the provider's address to which the browser goes. Raises SignOnFailed.

    ``person_id`` is the signed-in person who connects an identity; None: it is to sign in, and
    ``next_url`` is the page of this site to open then.
    """
    data = {"person": person_id, "next_url": next_url}
    try:
        response = _make_provider(request, provider).redirect(
            request, process="connect" if person_id else "login", data=data
        )
        address = str(response["Location"])
    except (requests.RequestException, UpdateError, *_INVALID_REPLY) as error:
        raise SignOnFailed(notice_text.PROVIDER_UNREACHABLE, provider, 502) from error
    return address


def verify_callback(request: HttpRequest, provider: IdentityProvider) -> SignOn:
    """Return the identity that the provider proves. Raises SignOnFailed."""
    client = _make_provider(request, provider)
    state = _take_state(request, client.sub_id)
    if "error" in request.GET:
        raise SignOnFailed(notice_text.SIGN_ON_CANCELLED, provider)
    if state is None:
        raise SignOnFailed(notice_text.SIGN_ON_EXPIRED, provider)
    try:
        claims = _fetch_claims(request, client, state)
        identity = _read_claims(provider, claims)
    except requests.RequestException as error:
        raise SignOnFailed(notice_text.PROVIDER_UNREACHABLE, provider, 502) from error
    except _INVALID_REPLY as error:
        raise SignOnFailed(notice_text.SIGN_ON_INVALID, provider) from error
    data = state["data"]
    return SignOn(identity, data["person"], data.get("next_url") or reverse("home"))


def _make_provider(request: HttpRequest, provider: IdentityProvider) -> _Provider:
    app = SocialApp(
        provider="openid_connect",
        provider_id=provider.url,
        key=provider.name,
        name=provider.title,
        client_id=provider.client_id,
        secret=provider.client_secret,
        settings={"server_url": provider.url, "oauth_pkce_enabled": True},
    )
    return _Provider(request, app=app)


def _take_state(request: HttpRequest, issuer: str) -> dict[str, Any] | None:
    """Return the state of a sign-on that this session began at most 10 minutes ago, once."""
    state_id = request.GET.get("state", "")
    try:
        state: dict[str, Any] | None = statekit.unstash_state(
            request, provider_id=issuer, state_id=state_id
        )
    except UpdateError:
        return None
    return state


def _fetch_claims(
    request: HttpRequest, client: _Provider, state: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the claims of the ID token and of the UserInfo endpoint."""
    adapter = client.get_oauth2_adapter(request)
    app = client.app
    app.settings["fetch_userinfo"] = "userinfo_endpoint" in adapter.openid_config
    token_data = adapter.get_access_token_data(
        request,
        app,
        adapter.get_client(request, app),
        pkce_code_verifier=state["pkce_code_verifier"],
    )
    token = adapter.parse_token(token_data)
    login = adapter.complete_login(request, app, token, response=token_data)
    claims: dict[str, dict[str, Any]] = login.account.extra_data
    return claims


def _read_claims(provider: IdentityProvider, claims: dict[str, dict[str, Any]]) -> ProvenIdentity:
    """Return the identity that verified claims prove. Raises KeyError and ValueError.

    allauth prefers the UserInfo endpoint's claims, which prove nothing unless their subject is that
    of the ID token (OpenID Connect Core, 5.3.2).
    """
    id_token, user_info = claims["id_token"], claims.get("userinfo", {})
    subject = id_token["sub"]
    if user_info.get("sub", subject) != subject or db_text.clean_text(subject) != subject:
        raise ValueError("sub")
    email_claims = user_info if "email" in user_info else id_token
    email = email_claims.get("email")
    is_verified = email_claims.get("email_verified") in (True, "true")  # the text: AWS Cognito
    is_usable = (
        isinstance(email, str)
        and len(email) <= MAX_EMAIL_CHARACTERS
        and db_text.clean_text(email) == email
    )
    return ProvenIdentity(
        provider=provider.title,
        issuer=provider.url,
        subject=subject,
        email=str(email) if is_verified and is_usable else "",
    )
