from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jpweb.identity_providers import read_providers

COMPANY = {
    "JPWEB_OIDC_COMPANY_URL": "https://sso.example.org/realms/staff",
    "JPWEB_OIDC_COMPANY_CLIENT": "jpweb",
    "JPWEB_OIDC_COMPANY_SECRET": "a-secret",
}


def test_providers_are_read_by_name_and_keep_their_secret_out_of_sight():
    partner = {
        name.replace("COMPANY", "BIG_PARTNER"): value.replace("sso", "login")
        for name, value in COMPANY.items()
    }
    variables = COMPANY | partner | {"JPWEB_OIDC_BIG_PARTNER_TITLE": "Big & Co"}
    providers = read_providers(" company, big-partner ,", variables)
    assert [provider.title for provider in providers.values()] == ["Company", "Big & Co"]
    assert providers["big-partner"].client_secret == "a-secret"
    assert "a-secret" not in repr(providers)
    assert read_providers("", COMPANY) == {}


@pytest.mark.parametrize(
    "url",
    [
        "https://sso.example.org/realms/staff/",
        "https://sso.example.org/realms/staff/.well-known/openid-configuration",
    ],
)
def test_url_of_the_metadata_is_that_of_the_issuer(url: str):
    providers = read_providers("company", COMPANY | {"JPWEB_OIDC_COMPANY_URL": url})
    assert providers["company"].url == COMPANY["JPWEB_OIDC_COMPANY_URL"]


@pytest.mark.parametrize(
    ("names", "changes", "problem"),
    [
        ("Company!", {}, "JPWEB_OIDC must hold short names such as company"),
        ("company", {"URL": ""}, "Set JPWEB_OIDC_COMPANY_URL, too: the provider's address"),
        ("company", {"CLIENT": " "}, "Set JPWEB_OIDC_COMPANY_CLIENT, too: the client id"),
        ("company", {"SECRET": ""}, "Set JPWEB_OIDC_COMPANY_SECRET, too: the client secret"),
        ("company", {"URL": "http://sso.example.org"}, "must be the provider's https address"),
        ("company", {"URL": "https://sso.example.org:x"}, "must be the provider's https address"),
        ("company", {"URL": "https://a@sso.example.org"}, "must be the provider's https address"),
        ("company", {"URL": "https://[sso"}, "must be the provider's https address"),
        ("company", {"URL": "https://sso.example.org?a=b"}, "must be the provider's https address"),
    ],
)
def test_bad_setting_is_named_with_the_next_step(names: str, changes: dict[str, Any], problem: str):
    variables = COMPANY | {f"JPWEB_OIDC_COMPANY_{name}": value for name, value in changes.items()}
    with pytest.raises(ImproperlyConfigured) as error:
        read_providers(names, variables)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert "a-secret" not in str(error.value)


def test_read_providers_refuses_one_provider_under_two_names():
    twin = {name.replace("COMPANY", "TWIN"): value for name, value in COMPANY.items()}
    with pytest.raises(ImproperlyConfigured, match="is that of another provider"):
        read_providers("company,twin", COMPANY | twin)
