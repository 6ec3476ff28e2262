from __future__ import annotations

import pytest

from tests.agent.config.making import refused


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ('providers.mcp.x = {url = "https://x", headers = "s3cret"}', "x.headers"),
        ('providers.mcp.x.url = "htps://me:s3cret@x"', "x.url"),
        ('providers.mcp.x.url = "x?key=s3cret"', "x.url"),
        ('providers.mcp.x.url = ["https://me:s3cret@x"]', "x.url"),
        ('providers.mcp.x = "https://me:s3cret@x"', "mcp.x"),
        ('providers.mcp = [{url = "s3cret"}]', "providers.mcp"),
        ('providers.mcp.x = {command = "c", variables = ["A=s3cret"]}', "x.variables"),
        ('providers.mcp.x = {command = "c", variables = {A = "s3cret"}}', "x.variables"),
        ('providers.mcp.x = {command = "c", arguments = "--token s3cret"}', "x.arguments"),
        ('providers.mcp.x = {command = {a = "s3cret"}}', "x.command"),
        ('providers.llm.x.base_url = "ftp://me:s3cret@x"', "x.base_url"),
        ('providers.llm.x.api_key_env = "sk-s3cret"', "x.api_key_env"),
        ('conversation.tools.ask_user.questions.answer = "s3cret"', "questions.answer"),
        ('conversation.tools.ask_user.options = "s3cret"', "ask_user.options"),
    ],
)
def test_what_may_hold_a_secret_is_in_no_message(written: str, key: str):
    said = refused("", written)
    assert "s3cret" not in said
    assert said.startswith("1.toml: ")
    assert f"{key} " in said
