from __future__ import annotations

import ast
from collections import Counter

from tests.architecture.tree import modules, nodes, templates, text

FUNCTION_LINES = 50
FILE_LINES = 400
TEMPLATE_LINES = 120
MODULES_A_FOLDER = 15
NO_NAMES = {"util", "utils", "helper", "helpers", "common", "service", "services"} | {
    "manager",
    "managers",
    "misc",
}


def test_functions_are_short():
    long = [
        f"{path}:{node.lineno} {node.name} has {lines} lines"
        for path in modules("jpweb", "tests")
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []


def test_files_are_short():
    limits = dict.fromkeys(modules("jpweb", "tests"), FILE_LINES)
    limits |= dict.fromkeys(templates(), TEMPLATE_LINES)
    long = [
        f"{path} has {lines} lines"
        for path, limit in limits.items()
        if (lines := len(text(path).splitlines())) > limit
    ]
    assert long == []


def test_folders_hold_few_modules():
    held = Counter(p.parent for p in modules("jpweb", "tests") if p.name != "__init__.py")
    assert {folder: n for folder, n in held.items() if n > MODULES_A_FOLDER} == {}


def test_modules_are_named_for_what_they_hold():
    named = {part for path in modules("jpweb", "tests") for part in path.with_suffix("").parts}
    assert named & NO_NAMES == set()
