"""The texts of pages: in templates, in labels or in notices, and in no other module of ``web``.

A label or sentence begins with a capital letter and has several words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import list_modules, read_text

WEB = Path("jpweb/web")
TEXT_MODULES = {
    WEB / "display_text.py",
    WEB / "notice_text.py",
    *(path for path in list_modules("jpweb") if path.parent == WEB / "labels"),
}
#: Modules with texts that no page shows, and why.
EXEMPT_MODULES = {WEB / "checks.py": "system checks speak to the operator, at start"}

_BEGINNING = re.compile(r"[A-Z“]|\{\} ")
_END = re.compile(r"[\w}”][.!?…]$")
_WORD = re.compile(r"[A-Za-z]{2,}")


def is_text(literal: str) -> bool:
    """Tell whether a literal reads as a label or a sentence; placeholders are ``{}``."""
    has_words = " " in literal.strip() and len(_WORD.findall(literal)) > 1
    return has_words and bool(_BEGINNING.match(literal) or _END.search(literal))


def join_pieces(node: ast.JoinedStr) -> str:
    """Return an f-string with ``{}`` for its placeholders."""
    return "".join(
        str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in node.values
    )


def list_literals(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the lines and texts of string literals, without docstrings and arguments of loggers."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
                continue
            case ast.JoinedStr():
                yield child.lineno, join_pieces(child)
                for piece in child.values:
                    if isinstance(piece, ast.FormattedValue):
                        yield from list_literals(piece)
            case ast.Constant(value=str(literal)):
                yield child.lineno, literal
            case _:
                yield from list_literals(child)


def find_texts(path: Path) -> list[str]:
    """Return the labels and sentences of a module, each behind its line."""
    literals = list_literals(ast.parse(read_text(path)))
    return [f"{path}:{line}: {literal}" for line, literal in literals if is_text(literal)]


def test_page_texts_are_in_templates_labels_and_notices_only():
    holders = [path for path in list_modules("jpweb") if path.parts[1] == "web"]
    other_paths = [path for path in holders if path not in TEXT_MODULES | EXEMPT_MODULES.keys()]
    assert other_paths
    assert [line for path in other_paths for line in find_texts(path)] == []


def test_exempt_modules_contain_page_texts():
    assert [path for path in EXEMPT_MODULES if not find_texts(path)] == []


def test_page_texts_and_other_literals_are_distinguished():
    texts = [
        "Enter a name.",
        "“{}” is now {}.",
        "{} calls have no result",
        "Last activity",
        "it ended.",
    ]
    other_paths = [
        "sign-in link made",
        "conversation: {}",
        "private, no-cache",
        '<div id="nothing"></div>',
    ]
    assert [literal for literal in texts + other_paths if is_text(literal)] == texts
