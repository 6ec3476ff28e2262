from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import list_modules, read_text, walk_nodes

#: The edge where a run's failure becomes a recorded fact, whatever it was.
MAY_CATCH_ALL = Path("jpweb/runtime/execution/turn_runner.py")
BROAD = {"Exception", "BaseException"}
#: What a file holds that catches anything; only such files are parsed.
CATCHING = re.compile(r"\b(except|suppress)\b")
SILENCED = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no)")
REASONED = re.compile(
    r"#\s*(?:noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|type:\s*ignore\[[\w, -]+\]|pragma:\s*no \w+)"
    r"\s+(?:#\s*)?(?![A-Z]+\d)\w.*"
)


def broad(node: ast.AST) -> bool:
    """Tell whether the node catches or suppresses everything."""
    if isinstance(node, ast.ExceptHandler):
        return node.type is None or _names(node.type) & BROAD != set()
    if isinstance(node, ast.Call) and "suppress" in _names(node.func):
        return any(_names(argument) & BROAD for argument in node.args)
    return False


def _names(expression: ast.expr) -> set[str]:
    parts = expression.elts if isinstance(expression, ast.Tuple) else [expression]
    return {p.attr if isinstance(p, ast.Attribute) else getattr(p, "id", "") for p in parts}


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def silenced_without_reason(source: str) -> list[int]:
    return [
        line
        for line, comment in comments(source)
        if SILENCED.search(comment) and not REASONED.search(comment)
    ]


def test_errors_are_caught_by_name():
    handlers = [
        f"{path}:{getattr(node, 'lineno', 0)}"
        for path in list_modules("jpweb", "tests", "manage.py")
        if path != MAY_CATCH_ALL and CATCHING.search(read_text(path))
        for node in walk_nodes(path)
        if broad(node)
    ]
    assert handlers == []


def test_a_silenced_rule_says_why():
    silent = [
        f"{path}:{line}"
        for path in list_modules("jpweb", "tests", "manage.py")
        if SILENCED.search(read_text(path))
        for line in silenced_without_reason(read_text(path))
    ]
    assert silent == []


@pytest.mark.parametrize(
    "source",
    [
        "try: x\nexcept: y",
        "try: x\nexcept (OSError, Exception): y",
        "try: x\nexcept builtins.BaseException: y",
        "suppress(Exception)",
        "contextlib.suppress(OSError, Exception)",
    ],
)
def test_catching_everything_is_recognized(source: str):
    assert any(broad(node) for node in ast.walk(ast.parse(source)))


def test_catching_by_name_is_not():
    source = "try: x\nexcept (OSError, ValueError): y\nsuppress(OSError)"
    assert not any(broad(node) for node in ast.walk(ast.parse(source)))


def test_silenced_rules_without_a_reason_are_listed():
    bare = ["# noqa", "# noqa: E501", "# noqa: E501 F401", "# type: ignore[arg-type]"]
    good = ["# noqa: E501, F401  a url", "# noqa: E501  # a url", "# type: ignore[misc]  # stub"]
    assert silenced_without_reason("\n".join(bare + good)) == [1, 2, 3, 4]
