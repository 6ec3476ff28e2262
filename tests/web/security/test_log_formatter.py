from __future__ import annotations

import logging

import pytest

from jpweb.web.security.log_formatter import LineFormatter

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
    assert LineFormatter("{message}", style="{").format(record) == line


def test_format_of_a_traceback_leaves_out_the_code_of_an_answer_link():
    error = ValueError(f"/answer/{CODE}")
    record = logging.makeLogRecord({"msg": "Failed", "exc_info": (ValueError, error, None)})
    text = LineFormatter().format(record)
    assert "ValueError: /answer/[code]" in text
    assert CODE not in text


@pytest.mark.parametrize(
    "name",
    [
        '/answer/x\n2026-11-29 10:10:10,000 INFO jpweb.security: sign-in account="owner"',
        "17000000777-late\r\n2026-11-29 10:10:10,000 INFO jpweb.security: role changed",
        "17000000778-\x1b]0;title\x07\x1b[2Jgone",
        "17000000779-\u202eretsehc\u2028\x85",
    ],
    ids=["path", "folder", "escape sequences", "bidirectional"],
)
def test_name_with_control_characters_is_one_line_of_the_log(name: str):
    formatter = LineFormatter("{levelname} {name}: {message}", style="{")
    record = logging.makeLogRecord({"msg": "%s is refused", "args": (name,)})
    line = formatter.format(record)
    assert line.isprintable()
    assert line.endswith(" is refused")
    error = ValueError(name)
    record = logging.makeLogRecord({"msg": "Failed", "exc_info": (ValueError, error, None)})
    first_line, *other_lines = formatter.format(record).split("\n")
    assert first_line.endswith(": Failed")
    assert all(line.startswith("  ") and line.isprintable() for line in other_lines)
    assert other_lines[0].startswith("  ValueError: ")
