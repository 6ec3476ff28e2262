"""Builds the stand-alone ``verify_bundle.py``: one file that imports the standard library alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from jpweb.evidence import bundle_verifier, ledger_verifier

SCRIPT_NAME = "verify_bundle.py"
#: The first line of each module that the script does without.
_COMMAND_MARK = "# The command ---"


@cache
def build_script() -> str:
    """Return the bundle's verifier with the functions of the ledger's in place of their import."""
    source = _read_source(bundle_verifier.__file__)
    statement = _find_import(source, ledger_verifier.__name__)
    lines = source.splitlines(keepends=True)
    last_line = statement.end_lineno or statement.lineno
    before, after = lines[: statement.lineno - 1], lines[last_line:]
    return "".join(before) + _read_functions() + "".join(after)


def _read_functions() -> str:
    """Return the ledger verifier without its imports and its command."""
    source = _read_source(ledger_verifier.__file__)
    last_import = max(
        node.end_lineno or 0
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    functions = "".join(source.splitlines(keepends=True)[last_import:])
    return functions.partition(_COMMAND_MARK)[0].strip() + "\n"


def _find_import(source: str, module: str) -> ast.ImportFrom:
    return next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module == module
    )


def _read_source(file: str | None) -> str:
    return Path(str(file)).read_text(encoding="utf-8")
