from __future__ import annotations

import pytest

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
def test_what_is_jpwebs_own_goes_to_nobody(toml: str, key: str, name: str):
    message = get_refusal("", toml.format(name))
    assert message.startswith(f"1.toml: {key} names {name}, which is jpweb's own.")
    assert get_refusal(toml.format(name.lower()))


def test_other_variables_may_be_named():
    config = read_configuration(
        'providers.mcp.s = {command = "c", variables = ["MY_JPWEB_X", "DATABASE"]}'
    )
    assert config.servers["s"].variables == ("MY_JPWEB_X", "DATABASE")
