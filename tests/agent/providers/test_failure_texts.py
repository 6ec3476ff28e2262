"""What the text of a provider's error shows, and what it hides."""

from __future__ import annotations

import pytest

from jpweb.agent.config import ModelConfig
from jpweb.agent.errors import FailureKind
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from tests.agent.providers.conversing import VENDORS, get_failure, make_provider
from tests.agent.providers.test_failures import wrap_error
from tests.machine.ports import free_port
from tests.machine.vendors import Failure, Standin, run_vendor


@pytest.mark.parametrize("name", VENDORS)
async def test_provider_error_hides_credentials_and_query_of_the_address(name: str):
    place = f"127.0.0.1:{free_port()}"
    error, _ = await get_failure(
        make_provider(Standin(name, f"http://me:CANARY@{place}/v1?k=CANARY", []))
    )
    assert error.kind is FailureKind.UNAVAILABLE
    assert f"http://{place}/v1 can't be reached" in str(error)
    assert "CANARY" not in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_provider_error_text_has_no_lone_surrogate(name: str):
    body = wrap_error(name, "bad \ud800 char", "invalid_request_error")
    with run_vendor(name, [Failure(400, body)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert "bad \N{REPLACEMENT CHARACTER} char" in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_key_that_a_vendor_repeats_in_another_form_is_not_shown(name: str):
    key = "sk-can/ry+key=1"
    body = wrap_error(name, "No key sk-can%2Fry%2Bkey%3D1.", "authentication_error", 401)
    with run_vendor(name, [Failure(401, body)]) as standin:
        error, _ = await get_failure(make_provider(standin, key=key))
    assert "No key [redacted]." in str(error)


def test_validation_error_is_reported_without_the_value():
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  slow to load

    from jpweb.agent.providers.adapter.error_mapping import map_error  # noqa: PLC0415  the same

    link = ModelEndpoint("Google", ModelConfig("google", "gemini"), "https://example.org")
    with pytest.raises(ValidationError) as validation_error:
        TypeAdapter(dict[str, int]).validate_python({"max": "CANARY"})
    error = map_error(validation_error.value, link)
    assert error.kind is FailureKind.BAD_REQUEST
    assert "Details: max: Input should be a valid integer" in str(error)
    assert "CANARY" not in str(error)
