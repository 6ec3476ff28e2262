"""The files of the project, as git knows them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def list_files() -> list[Path]:
    """Return every file that is tracked or would be, relative to the root."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    result = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
    return sorted(
        path for path in map(Path, result.stdout.split("\0")[:-1]) if (ROOT / path).exists()
    )


def list_modules(*tops: str) -> list[Path]:
    """Return the Python files below these folders, migrations left out."""
    return [
        path
        for path in list_files()
        if path.suffix == ".py" and path.parts[0] in tops and "migrations" not in path.parts
    ]


def list_templates() -> list[Path]:
    return [
        path for path in list_files() if path.parts[0] == "templates" and path.suffix == ".html"
    ]


def read_text(path: Path) -> str:
    return (ROOT / path).read_text()


def walk_nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(read_text(path)))


class Function(NamedTuple):
    """A function or method, with its first line and their count."""

    name: str
    line: int
    line_count: int


class Alias(NamedTuple):
    """Another name under which a module is imported, or something of it, with its line."""

    name: str
    line: int
    imported: str


class Outline(NamedTuple):
    """What a module defines and imports."""

    functions: list[Function]
    class_names: list[str]
    aliases: list[Alias]


@cache
def read_outline(path: Path) -> Outline:
    """Return a module's outline; parsing all modules takes 2 s."""
    outline = Outline([], [], [])
    for node in walk_nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            line_count = (node.end_lineno or 0) - node.lineno + 1
            outline.functions.append(Function(node.name, node.lineno, line_count))
        elif isinstance(node, ast.ClassDef):
            outline.class_names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            aliases = (alias for alias in node.names if alias.asname)
            outline.aliases.extend(
                Alias(alias.asname or "", node.lineno, alias.name) for alias in aliases
            )
    return outline
