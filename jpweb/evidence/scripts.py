"""Builds the stand-alone verifiers: each one file that imports the standard library alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import ModuleType

from jpweb.evidence import (
    bundle_files,
    bundle_verifier,
    keyed_hashes,
    ledger_verifier,
    merkle_tree,
    record_checks,
    signatures,
)

BUNDLE_SCRIPT_NAME = "verify_bundle.py"
LEDGER_SCRIPT_NAME = "ledger_verifier.py"
#: The modules whose functions a verifier imports, each before those that import it.
_LEDGER_MODULES = (signatures, merkle_tree)
_BUNDLE_MODULES = (*_LEDGER_MODULES, keyed_hashes, ledger_verifier, record_checks, bundle_files)
#: The first line of each module that the other scripts do without.
_COMMAND_MARK = "# The command ---"


@cache
def build_bundle_script() -> str:
    """Return the verifier of bundles."""
    return _build_script(bundle_verifier, _BUNDLE_MODULES)


@cache
def build_ledger_script() -> str:
    """Return the verifier of ledger files."""
    return _build_script(ledger_verifier, _LEDGER_MODULES)


def _build_script(verifier: ModuleType, modules: tuple[ModuleType, ...]) -> str:
    """Return a verifier with the functions that it imports in place of their import."""
    source = _read_source(verifier)
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    imports = {line: None for module in (*modules, verifier) for line in _list_imports(module)}
    functions = [_read_functions(module) for module in modules]
    head = f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n' + "\n".join(imports)
    return "\n\n\n".join([head, *functions, _cut_imports(source)]) + "\n"


def _list_imports(module: ModuleType) -> list[str]:
    """Return the imports of a module but for those of jpweb and ``__future__``."""
    return [
        ast.unparse(node)
        for node in ast.parse(_read_source(module)).body
        if isinstance(node, ast.Import)
        or (
            isinstance(node, ast.ImportFrom)
            and str(node.module).partition(".")[0] not in ("jpweb", "__future__")
        )
    ]


def _read_functions(module: ModuleType) -> str:
    """Return a module without its imports and its command."""
    return _cut_imports(_read_source(module)).partition(_COMMAND_MARK)[0].strip()


def _cut_imports(source: str) -> str:
    last_import = max(
        node.end_lineno or 0
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    return "".join(source.splitlines(keepends=True)[last_import:]).strip()


def _read_source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")
