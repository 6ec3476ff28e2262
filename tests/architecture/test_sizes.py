from __future__ import annotations

from collections import Counter

from tests.architecture.tree import (
    list_modules,
    list_templates,
    read_outline,
    read_text,
)

FUNCTION_LINES = 50
FILE_LINES = 400
TEMPLATE_LINES = 120
MODULES_A_FOLDER = 15
TEST_NAME_CHARACTERS = 70
NO_NAMES = {"util", "utils", "helper", "helpers", "common", "service", "services"} | {
    "manager",
    "managers",
    "misc",
}
#: Words that name no module or function in particular.
VAGUE_ALIASES = {"rows", "library", "item_html"}


def test_functions_are_short():
    long = [
        f"{path}:{function.line} {function.name} has {function.line_count} lines"
        for path in list_modules("jpweb", "tests")
        for function in read_outline(path).functions
        if function.line_count > FUNCTION_LINES
    ]
    assert long == []


def test_names_of_tests_are_short():
    long = [
        f"{path}:{function.line} {function.name} has {len(function.name)} characters"
        for path in list_modules("tests")
        for function in read_outline(path).functions
        if function.name.startswith("test_") and len(function.name) > TEST_NAME_CHARACTERS
    ]
    assert long == []


def test_files_are_short():
    limits = dict.fromkeys(list_modules("jpweb", "tests"), FILE_LINES)
    limits |= dict.fromkeys(list_templates(), TEMPLATE_LINES)
    long = [
        f"{path} has {lines} lines"
        for path, limit in limits.items()
        if (lines := len(read_text(path).splitlines())) > limit
    ]
    assert long == []


def test_folders_have_at_most_15_modules():
    module_counts = Counter(
        p.parent for p in list_modules("jpweb", "tests") if p.name != "__init__.py"
    )
    assert {folder: n for folder, n in module_counts.items() if n > MODULES_A_FOLDER} == {}


def test_aliases_of_imports_are_nouns():
    """An alias says which thing it is: no participle, and no word that fits any module."""
    aliases = [
        f"{path}:{alias.line} {alias.imported} as {alias.name}"
        for path in list_modules("jpweb")
        for alias in read_outline(path).aliases
        if alias.name in VAGUE_ALIASES or alias.name.endswith(("ing", "ed"))
    ]
    assert aliases == []


def test_module_names_follow_the_rules():
    path_parts = {
        part for path in list_modules("jpweb", "tests") for part in path.with_suffix("").parts
    }
    assert path_parts & NO_NAMES == set()
