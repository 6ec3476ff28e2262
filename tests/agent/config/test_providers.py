from __future__ import annotations

from itertools import pairwise

import pytest

from jpweb.agent.config import ModelConfig
from tests.agent.config.making import get_refusal, read_configuration


@pytest.mark.parametrize(
    "name",
    ["JPWEB_SECRET_KEY", "JPWEB_X", "DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL"],
)
@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ('providers.llm.openai.api_key_env = "{}"', "providers.llm.openai.api_key_env"),
        (
            'providers.mcp.s = {{command = "c", variables = ["A", "{}"]}}',
            "providers.mcp.s.variables",
        ),
    ],
)
def test_config_refuses_to_pass_on_environment_variables_of_jpweb(toml: str, key: str, name: str):
    message = get_refusal("", toml.format(name))
    assert message.startswith(f"1.toml: {key} names {name}, which is jpweb's own.")
    assert get_refusal(toml.format(name.lower()))


def test_config_accepts_other_environment_variables():
    config = read_configuration(
        'providers.mcp.s = {command = "c", variables = ["MY_JPWEB_X", "DATABASE"]}'
    )
    assert config.servers["s"].variables == ("MY_JPWEB_X", "DATABASE")


@pytest.mark.parametrize(
    "name", ["a", "glm-5.2", "z-ai/glm-5.2", "model_1:free", "~vendor/x-latest", " a "]
)
def test_the_name_of_a_model_has_the_characters_of_jp(name: str):
    model = read_configuration(f'assistant.model.id = "openai/{name}"').assistant.model
    assert model.name == name.strip()


@pytest.mark.parametrize("name", ["has space", "star*", "back\\\\slash", "\u0663", "\u263a"])
@pytest.mark.parametrize("form", ['"openai/{}"', '{{provider = "openai", name = "{}"}}'])
def test_config_refuses_an_invalid_model_name(name: str, form: str):
    text = get_refusal(f"assistant.model.id = {form.format(name)}")
    assert "letters, digits and . _ : / ~ -" in text


def test_an_alias_may_name_another_one():
    model = read_configuration(
        """
        assistant.model.id = "default"
        [providers.llm.aliases]
        opus = "anthropic/o-4"
        coder = "opus"
        default = "coder"
        """
    ).assistant.model
    assert (model.provider, model.name) == ("anthropic", "o-4")


def test_aliases_in_a_long_chain_are_all_the_last_one():
    names = [f"a{number}" for number in range(3_000)]
    links = "".join(f'{name} = "{target}"\n' for name, target in pairwise(names))
    config = read_configuration(
        f'[providers.llm.aliases]\n{links}a2999 = "x/y"\n[assistant.model]\nid = "a0"'
    )
    assert config.assistant.model == ModelConfig("x", "y")


def test_an_alias_that_leads_into_a_circle_is_named():
    text = get_refusal('[providers.llm.aliases]\nk = "x/y"\nc = "a"\na = "b"\nb = "a"')
    assert "aliases.c is a circular alias: c -> a -> b -> a." in text


def test_an_alias_of_no_model_names_no_other_alias():
    text = get_refusal('[providers.llm.aliases]\nk = "x/y"\nc = "a"\na = "b"')
    assert text.endswith('aliases.a is "b". It must be "provider/name".')


def test_a_circle_of_aliases_is_named_even_where_none_is_used():
    text = get_refusal('[providers.llm.aliases]\na = "b"\nb = "a"')
    assert "aliases.a is a circular alias: a -> b -> a." in text


@pytest.mark.parametrize("seconds", [1, 9])
def test_config_refuses_a_too_short_stream_idle_timeout(seconds: int):
    text = get_refusal(f"assistant.request.stream_idle_timeout_secs = {seconds}")
    assert f"secs is {seconds}. It must be 0 for no limit, or at least 10." in text


def test_replies_have_jps_limits_where_none_is_configured():
    request = read_configuration("assistant.request.max_retries = 1").assistant.request
    assert (request.max_response_bytes, request.idle_seconds) == (1_048_576, 60)
    assert read_configuration("").assistant.request.idle_seconds == 60


def test_a_limit_of_a_reply_that_is_zero_stays_zero():
    request = read_configuration(
        """
        [assistant.request]
        max_response_bytes = 0
        stream_idle_timeout_secs = 0
        """
    ).assistant.request
    assert (request.max_response_bytes, request.idle_seconds) == (0, 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("false", False), ('"off"', False), ("true", True), ('"short"', True), ('"long"', "1h"),
        ('"10m"', "5m"), ('"1799s"', "5m"), ('"30m"', "1h"), ('"2h"', "1h"), ('"1d"', "1h"),
    ],
)  # fmt: skip
def test_the_cache_of_prompts_has_a_word_or_a_time(value: str, expected: bool | str):
    assert (
        read_configuration(f"assistant.request.cache = {value}").assistant.request.cache == expected
    )


@pytest.mark.parametrize("value", ['"soon"', "5", '"5"', '"-5m"', "[]"])
def test_config_refuses_an_invalid_prompt_cache(value: str):
    assert 'must be off, short, long, or a time such as "10m"' in get_refusal(
        f"assistant.request.cache = {value}"
    )
