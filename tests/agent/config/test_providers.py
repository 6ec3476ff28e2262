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


@pytest.mark.parametrize(
    "name", ["a", "glm-5.2", "z-ai/glm-5.2", "model_1:free", "~vendor/x-latest", " a "]
)
def test_the_name_of_a_model_has_the_characters_of_jp(name: str):
    model = read_configuration(f'assistant.model.id = "openai/{name}"').assistant.model
    assert model.name == name.strip()


@pytest.mark.parametrize("name", ["has space", "star*", "back\\\\slash", "\u0663", "\u263a"])
@pytest.mark.parametrize("form", ['"openai/{}"', '{{provider = "openai", name = "{}"}}'])
def test_another_name_of_a_model_is_refused(name: str, form: str):
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


def test_a_circle_of_aliases_is_named_even_where_none_is_used():
    text = get_refusal('[providers.llm.aliases]\na = "b"\nb = "a"')
    assert "aliases.a is a circle of aliases: a -> b -> a." in text
