from __future__ import annotations

from jpweb.agent.tools.mcp.reasons import reason


def test_a_group_says_what_its_first_error_says():
    inner = BaseExceptionGroup("g", [ValueError("a\n b"), KeyError("c")])
    assert reason(BaseExceptionGroup("h", [inner])) == "a b"


def test_an_error_without_words_says_its_name():
    assert reason(TimeoutError()) == "TimeoutError"
    assert reason(ValueError("x" * 1000)) == "x" * 500
