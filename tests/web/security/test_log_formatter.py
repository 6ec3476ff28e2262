from __future__ import annotations

import logging

import pytest

from jpweb.web.security.log_formatter import CodeRedactingFormatter

CODE = "Zk3-x_9Q"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (f"/answer/{CODE} cannot be served.", "/answer/[code] cannot be served."),
        (f'"GET /answer/{CODE}?a=1" 500', '"GET /answer/[code]?a=1" 500'),
        (f"https://jp.example.org/answer/{CODE}", "https://jp.example.org/answer/[code]"),
        ("/questions/7/answer was refused", "/questions/7/answer was refused"),
    ],
)
def test_format_of_a_path_leaves_out_the_code_of_an_answer_link(message: str, line: str):
    record = logging.makeLogRecord({"msg": message})
    assert CodeRedactingFormatter("{message}", style="{").format(record) == line


def test_format_of_a_traceback_leaves_out_the_code_of_an_answer_link():
    error = ValueError(f"/answer/{CODE}")
    record = logging.makeLogRecord({"msg": "Failed", "exc_info": (ValueError, error, None)})
    text = CodeRedactingFormatter().format(record)
    assert "ValueError: /answer/[code]" in text
    assert CODE not in text
