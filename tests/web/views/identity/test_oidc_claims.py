"""What claims of an identity provider prove."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.identity_providers import IdentityProvider
from jpweb.web.security import oidc_client

PROVIDER = IdentityProvider("company", "Company", "https://company.example", "jpweb", "secret")
EMAIL = "ada@company.example"


def read_email(**claims: Any) -> str:
    """Return the address that an ID token with an address proves."""
    id_token = {"sub": "ada", "email": EMAIL, **claims}
    return oidc_client._read_claims(PROVIDER, {"id_token": id_token}).email


@pytest.mark.parametrize("is_verified", [True, "true"])
def test_address_is_proven_by_a_truth_value_or_the_text_of_one(is_verified: Any):
    """Amazon Cognito sends the text."""
    assert read_email(email_verified=is_verified) == EMAIL


@pytest.mark.parametrize("claims", [{"email_verified": value} for value in (False, "false", None)])
def test_address_that_is_not_verified_proves_nothing(claims: dict[str, Any]):
    assert read_email(**claims) == ""
    assert read_email() == ""
