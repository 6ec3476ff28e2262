from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jpweb.agent.config import ModelConfig, ProviderConfig
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.provider_info import PROVIDER_INFO, SERVED_PROVIDERS
from jpweb.agent.providers import PROVIDERS, collect_key_variables
from tests.agent.providers.conversing import KEY, MODELS, VENDORS, make_provider, receive_events
from tests.machine.sizes import mark_proof
from tests.machine.vendors import Reply, Say, run_vendor

ROOT = Path(__file__).resolve().parents[4]


def test_importing_the_providers_does_not_import_their_library():
    code = "import sys, jpweb.agent.providers; print('pydantic_ai' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"


def test_provider_info_has_address_and_title_of_all_vendors():
    assert {*SERVED_PROVIDERS} == {*PROVIDERS} - {"scripted"} == {*MODELS}
    assert all(info.base_url and info.title for info in PROVIDER_INFO.values())


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
    ],
)
def test_provider_without_a_key_fails_before_a_request(name: str, variable: str):
    with pytest.raises(ProviderFailed, match=f"Set {variable}") as error:
        PROVIDERS[name](ModelConfig(name, "m"), ProviderConfig(), None)
    assert error.value.kind is FailureKind.WRONG_KEY


def test_the_variable_that_is_configured_is_named():
    with pytest.raises(ProviderFailed, match="Set OUR_KEY"):
        PROVIDERS["openai"](
            ModelConfig("openai", "m"), ProviderConfig(api_key_env="OUR_KEY"), " \n"
        )


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("key", [f"\t{KEY}\r\n", *mark_proof(f"{KEY}\n", f"  {KEY} ")])
async def test_space_around_a_key_is_not_sent(name: str, key: str):
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, key=key))
        values = [value for value in standin.requests[0].headers.values() if KEY in value]
    assert values in ([KEY], [f"Bearer {KEY}"])


@pytest.mark.parametrize("name", VENDORS)
async def test_headers_that_the_environment_has_for_a_library_are_not_sent(name: str, monkeypatch):
    for vendor in ("ANTHROPIC", "OPENAI"):
        headers_text = "Authorization: Bearer canary\nX-Api-Key: canary\nX-Other: canary"
        monkeypatch.setenv(f"{vendor}_CUSTOM_HEADERS", headers_text)
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, "canary")
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, key="our-key"))
        header_values = list(standin.requests[0].headers.values())
    assert [value for value in header_values if "canary" in value] == []
    assert [value for value in header_values if "our-key" in value] != []


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("key", ["sk-CANÄRY", "sk-CANARY\nX: 1", "sk-\0CANARY", "sk-CANARY\x7f"])
def test_a_key_that_cannot_be_sent_is_a_wrong_one_and_not_shown(name: str, key: str):
    with pytest.raises(ProviderFailed, match=r"can't be sent\. Check") as error:
        PROVIDERS[name](ModelConfig(name, "m"), ProviderConfig(), key)
    assert error.value.kind is FailureKind.WRONG_KEY
    assert "CAN" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("openrouter", "app_name", "Wörk"),
        ("openrouter", "app_name", "Work\n"),
        ("anthropic", "beta_headers", ("context-1m", "Wörk")),
    ],
)
def test_a_header_that_cannot_be_sent_is_named(name: str, field: str, value: Any):
    provider = ProviderConfig(**{field: value})
    with pytest.raises(ProviderFailed, match=rf"providers\.llm\.{name}\.{field} contains") as error:
        PROVIDERS[name](ModelConfig(name, "m"), provider, KEY)
    assert error.value.kind is FailureKind.BAD_REQUEST


def test_key_variables_are_those_of_vendors_and_of_the_configuration():
    configs = [ProviderConfig(api_key_env="OUR_KEY"), ProviderConfig()]
    assert collect_key_variables(configs) == collect_key_variables() | {"OUR_KEY"}
    assert {"ANTHROPIC_API_KEY", "GEMINI_API_KEY"} < collect_key_variables()
    assert {"ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"} < collect_key_variables()


def test_a_model_without_a_name_is_refused():
    with pytest.raises(ProviderFailed, match="No model is selected") as error:
        PROVIDERS["openai"](ModelConfig("openai", ""), ProviderConfig(), KEY)
    assert error.value.kind is FailureKind.BAD_REQUEST


@pytest.mark.parametrize("name", VENDORS)
def test_the_key_is_in_no_repr(name: str):
    provider = PROVIDERS[name](ModelConfig(name, "m"), ProviderConfig(), KEY)
    assert name == provider.NAME
    assert KEY not in repr(provider)
    assert PROVIDER_INFO[name].title in repr(provider)


@pytest.mark.parametrize("name", ["llamacpp", "ollama"])
async def test_servers_of_one_s_own_need_no_key(name: str):
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, key=None))


@pytest.mark.parametrize(
    ("name", "path", "request_path"),
    [
        ("anthropic", "/v1", "/v1/messages"),
        ("google", "/v1beta", "/v1beta/models/"),
        ("ollama", "/v1/", "/api/chat"),
        ("ollama", "/proxy/api", "/proxy/api/chat"),
        ("openai", "", "/v1/responses"),
        ("openrouter", "", "/api/v1/chat/completions"),
        ("openrouter", "/proxy/v1", "/proxy/v1/chat/completions"),
    ],
)
async def test_an_address_may_hold_the_path_of_the_api_or_not(
    name: str, path: str, request_path: str
):
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, base_url=f"{standin.base_url}{path}"))
        assert standin.requests[0].path.startswith(request_path)


async def test_beta_headers_reach_anthropic():
    with run_vendor("anthropic", [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, beta_headers=("context-1m-2025-08-07",)))
        assert "context-1m-2025-08-07" in standin.requests[0].headers["anthropic-beta"]


async def test_openrouter_request_has_the_app_name_header():
    with run_vendor("openrouter", [Reply(Say("Hello")), Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin))
        await receive_events(make_provider(standin, app_name="Ours"))
        assert [r.headers["x-title"] for r in standin.requests] == ["jpweb", "Ours"]
