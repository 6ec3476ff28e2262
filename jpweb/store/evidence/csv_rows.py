"""Rows of CSV files, in which no cell is a formula, also where a spreadsheet splits cells further.

A "'" before the first character has a spreadsheet take a cell for text. Where the comma is the
decimal sign, spreadsheets split at ";", and LibreOffice also at tabs, so a part behind one of these
or a line end gets it too. None splits at "|" or a space unless told to: both are frequent before
signs in prose, commands and tables, which would become hard to read. Nothing imports these files;
to restore a text, remove each "'" that is before a sign at the beginning or behind a separator.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable

#: CSV injection: spreadsheets evaluate a cell that begins with one of these, full-width forms too.
RISKY_SIGNS = frozenset("=+-@")
#: Spreadsheets may split a cell at one of these, and evaluate the rest.
RISKY_CONTROLS = ("\t", "\r", "\n")
#: A separator, and the signs with which the part behind it begins.
_PART_START = re.compile(r"[;\t\r\n]([^\w;\t\r\n]+)")


def write_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows of CSV, in which no cell is a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([escape_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def escape_cell(value: object) -> str:
    """Return the text of a cell of which no spreadsheet evaluates any part."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    is_risky = text.startswith(RISKY_CONTROLS) or _is_formula(text)
    return ("'" if is_risky else "") + _PART_START.sub(_mark_part, text)


def _mark_part(match: re.Match[str]) -> str:
    """Return a separator and signs, with the mark between them where a formula begins.

    A reader may take quotation marks for those around a cell.
    """
    is_risky = _is_formula(match[1].lstrip('"'))
    return f"{match[0][0]}'{match[1]}" if is_risky else match[0]


def _is_formula(text: str) -> bool:
    """Tell whether the first character that a spreadsheet keeps is one of ``RISKY_SIGNS``.

    It may drop spaces, controls, a byte order mark and other zero-width characters.
    """
    if text[:1].isascii() and text[:1].isalnum():
        return False
    visible_characters = (char for char in text if unicodedata.category(char)[0] not in "ZC")
    return unicodedata.normalize("NFKC", next(visible_characters, ""))[:1] in RISKY_SIGNS
