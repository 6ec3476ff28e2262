"""Builds the stand-alone ``verify_bundle.py``: one file that imports the standard library alone."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import ModuleType

from jpweb.evidence import bundle_verifier, keyed_hashes, ledger_verifier, record_checks

SCRIPT_NAME = "verify_bundle.py"
#: The modules whose functions the verifier imports, each before those that import it.
_MODULES = (keyed_hashes, ledger_verifier, record_checks)
#: The first line of each module that the script does without.
_COMMAND_MARK = "# The command ---"


@cache
def build_script() -> str:
    """Return the bundle's verifier with the functions that it imports in place of their import."""
    verifier = _read_source(bundle_verifier)
    docstring = ast.get_docstring(ast.parse(verifier), clean=False)
    imports = {
        line: None for module in (*_MODULES, bundle_verifier) for line in _list_imports(module)
    }
    functions = [_read_functions(module) for module in _MODULES]
    head = f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n' + "\n".join(imports)
    return "\n\n\n".join([head, *functions, _cut_imports(verifier)]) + "\n"


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
