"""Rows of CSV files, in which no cell is a formula."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable

#: CSV injection: spreadsheets evaluate a cell that begins with one of these, full-width forms too.
RISKY_SIGNS = frozenset("=+-@")
#: Spreadsheets may split a cell at one of these, and evaluate the rest.
RISKY_CONTROLS = ("\t", "\r", "\n")


def write_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows of CSV, in which no cell is a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([escape_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def escape_cell(value: object) -> str:
    """Return the text of a cell that no spreadsheet evaluates."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text[:1].isascii() and text[:1].isalnum():
        return text
    return f"'{text}" if text.startswith(RISKY_CONTROLS) or _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Tell whether the first character that a spreadsheet keeps is one of ``RISKY_SIGNS``.

    It may drop spaces, controls, a byte order mark and other zero-width characters.
    """
    visible_characters = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return unicodedata.normalize("NFKC", next(visible_characters, ""))[:1] in RISKY_SIGNS
