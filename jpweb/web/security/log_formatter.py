"""Formatter of the log: replaces the codes of answer links.

Django logs the path of a request that fails, and an answer link has its code in the path.
"""

from __future__ import annotations

import logging
import re

_ANSWER_PATH = re.compile(r"(/answer/)[^\s/?#\"'<>]+")


class CodeRedactingFormatter(logging.Formatter):
    """Formats records, tracebacks included, without the codes of answer links."""

    def format(self, record: logging.LogRecord) -> str:
        return _ANSWER_PATH.sub(r"\1[code]", super().format(record))
