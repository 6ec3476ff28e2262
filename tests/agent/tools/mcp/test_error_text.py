from __future__ import annotations

import pytest

from jpweb.agent.config import McpServer
from jpweb.agent.redaction import SecretAnswer, redact_text
from jpweb.agent.tools.mcp.error_text import find_first_error, list_server_secrets, to_single_line

SECRET = SecretAnswer("correct-horse-battery-staple")


def test_first_error_of_an_exception_group_is_its_first_leaf():
    error = ValueError("a")
    inner = BaseExceptionGroup("g", [error, KeyError("c")])
    assert find_first_error(BaseExceptionGroup("h", [inner])) is error
    assert find_first_error(error) is error


@pytest.mark.parametrize("before", range(465, 505))
def test_a_secret_is_taken_out_before_a_text_is_cut(before):
    text = to_single_line("x" * before + SECRET.value, [SECRET])
    assert len(text) <= 500
    assert "c" not in text.replace("[redacted]", "").replace("[redac", "")


def test_to_single_line_redacts_secrets_with_any_whitespace():
    assert to_single_line("it is\n a  b\tc ", [SecretAnswer("a  b\tc")]) == "it is [redacted]"
    assert to_single_line("it is\n long\nword", [SecretAnswer("long word")]) == "it is [redacted]"


def test_server_secrets_are_redacted_from_texts(monkeypatch):
    monkeypatch.setenv("SET", "variable")
    server = McpServer(
        "s",
        variables=("SET", "ABSENT"),
        url="https://user:p%40ss@host/mcp/segment-that-is-a-key?key=a+key&x=other",
        headers={"Authorization": " Bearer token-1 "},
    )
    text = redact_text(
        list_server_secrets(server),
        "variable Bearer token-1 token-1 user:p%40ss p%40ss segment-that-is-a-key a+key / a key "
        "other key=a+key&x=other",
    )
    assert set(text.split()) == {"[redacted]", "/"}


def test_an_address_that_is_none_is_hidden_as_a_whole():
    server = McpServer("s", url="http://[key")
    assert redact_text(list_server_secrets(server), "no http://[key") == "no [redacted]"
