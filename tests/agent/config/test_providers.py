from __future__ import annotations

import pytest

from tests.agent.config.making import reading, refused


@pytest.mark.parametrize(
    "name",
    ["JPWEB_SECRET_KEY", "JPWEB_X", "DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL"],
)
@pytest.mark.parametrize(
    ("written", "key"),
    [
        ('providers.llm.openai.api_key_env = "{}"', "providers.llm.openai.api_key_env"),
        (
            'providers.mcp.s = {{command = "c", variables = ["A", "{}"]}}',
            "providers.mcp.s.variables",
        ),
    ],
)
def test_what_is_jpwebs_own_goes_to_nobody(written: str, key: str, name: str):
    said = refused("", written.format(name))
    assert said.startswith(f"1.toml: {key} names {name}, which is jpweb's own.")
    assert refused(written.format(name.lower()))


def test_other_variables_may_be_named():
    found = reading('providers.mcp.s = {command = "c", variables = ["MY_JPWEB_X", "DATABASE"]}')
    assert found.servers["s"].variables == ("MY_JPWEB_X", "DATABASE")
