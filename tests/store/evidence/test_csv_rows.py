"""Cells of CSV files: no reader finds a formula in them, at whichever separator it splits."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jpweb.store.evidence import csv_rows

COMMAND = "=cmd|'/c calc'!A1"
HOSTILE_TEXTS = st.text(
    alphabet=st.sampled_from("=+-@;\t\r\n\"', |a1\u200b\ufeff\uff1d\x00"), max_size=12
)


def read_cells(data: bytes, delimiter: str) -> list[str]:
    """Return the cells that a reader gets who splits at another separator."""
    lines = io.StringIO(data.decode(), newline="")
    return [cell for row in csv.reader(lines, delimiter=delimiter) for cell in row]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain; text", "plain; text"),
        (f"x;{COMMAND};y", f"x;'{COMMAND};y"),
        (f"x\t{COMMAND}", f"x\t'{COMMAND}"),
        (f"x\r\n{COMMAND}", f"x\r\n'{COMMAND}"),
        (f"x; {COMMAND}", f"x;' {COMMAND}"),
        (f'x;"{COMMAND}', f"x;'\"{COMMAND}"),
        ("x;\uff1d1", "x;'\uff1d1"),
        ("=1;=2", "'=1;'=2"),
        ("\t=1", "'\t'=1"),
        ("a | -b = c", "a | -b = c"),
        ("- one\n- two", "'- one\n'- two"),
    ],
)
def test_cell_has_a_mark_before_each_part_that_is_a_formula(text: str, cell: str):
    assert csv_rows.escape_cell(text) == cell


@given(st.lists(HOSTILE_TEXTS, min_size=1, max_size=4))
@example([f"x;{COMMAND};y", "z"])
@example(['";=1', "\n=1"])
def test_no_reader_finds_a_formula_at_whichever_separator(texts: list[str]):
    data = csv_rows.write_rows([texts, ["1", *texts]])
    for delimiter in (",", ";", "\t"):
        cells = read_cells(data, delimiter)
        assert not [cell for cell in cells if csv_rows._is_formula(cell)]
