"""Formatter of the log: one line for each message, without the codes of answer links.

Django logs the path of a request that fails, and an answer link has its code in the path. Paths and
names of folders may have characters that end a line: none imitates another record.
"""

from __future__ import annotations

import logging
import re

from jpweb.evidence.ledger_verifier import escape_line

_ANSWER_PATH = re.compile(r"(/answer/)[^\s/?#\"'<>]+")


class LineFormatter(logging.Formatter):
    """Formats a record as a line; the lines of its traceback are indented, and so are no records.

    Control characters become escape sequences, also bidirectional ones, which reorder a line.
    """

    def format(self, record: logging.LogRecord) -> str:
        line, *traceback_lines = super().format(record).split("\n")
        lines = [line, *(f"  {escape_line(text)}" for text in traceback_lines)]
        return _ANSWER_PATH.sub(r"\1[code]", "\n".join(lines))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        return escape_line(super().formatMessage(record))
