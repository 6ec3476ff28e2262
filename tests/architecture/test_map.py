"""The map: complete, of two pages, and true of the code.

``ARCHITECTURE.md`` has a row for each package: the module to start at, and two to four words. What
it and the pages beside it have in backticks exists: files as they are, functions, classes and
constants as the code defines them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import list_files, list_modules, read_outline, read_text

MAP = Path("ARCHITECTURE.md")
#: Bytes of two pages, and those kept for rows of packages to come: two or three.
MAX_BYTES, ROW_BYTES = 8192, 100
#: Files that tell the system to a newcomer, and the lines of the longest.
FIRST_FILES, MAX_FIRST_LINES = 6, 250
PAGES = [MAP, Path("CONTRIBUTING.md"), Path("docs/decisions.md")]
LAYERS = ("stream", "agent", "store", "runtime", "web", "cli")

#: Modules of one layer that share a name, and why.
SHARED_NAMES = {
    ("agent", "tool"): "a tool by its transport: a subprocess, an MCP server",
    ("store", "accounts"): "the tables, and the functions over them",
    ("store", "conversations"): "the tables, and the functions over them",
    ("store", "inquiries"): "the tables, and the functions over them",
    ("store", "reader"): "of JP's files: conversations, and configuration",
    ("store", "reviews"): "the tables, and the functions over them",
    ("store", "runs"): "the tables, and the functions over them",
}

#: Classes that Django finds by their name.
FRAMEWORK_CLASSES = {"Command", "Meta", "Migration"}

_CODE_BLOCK = re.compile(r"^```.*?^```\n", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
#: A layer; or, indented below it, a package's module to start at and what the package is for.
_LAYER = re.compile(r"\w+")
_ROW = re.compile(r"  ([\w/]+): (\S+(?: \S+){1,3})")
_STEP = re.compile(r"^\d\. `([^`]+)`: \S", re.MULTILINE)
#: A part of a path that stands for any name.
_PLACEHOLDER = re.compile(r"<\w+>")
_FILE = re.compile(r"[\w<>./-]+\.(?:py|md|html|js|css|toml|txt)")
_FOLDER = re.compile(r"[\w<>.-]+(?:/[\w<>.-]+)+/?")
_DOTTED = re.compile(r"(?:jpweb|tests)(?:\.\w+)+")
#: A name that only code spells: snake_case, CamelCase, CAPITALS.
_SYMBOL = re.compile(r"_?[a-z]+(?:_[a-z0-9]+)+|(?:[A-Z]+[a-z0-9]+){2,}|[A-Z]+(?:_[A-Z]+)*")
#: A function or class; a constant or field; a tag in quotes. What ends one may begin the next.
_DEFINITION = re.compile(
    r"""(?:def|class)\ (\w+)\b | ^\s*(\w+)(?=:\ |,\ |\ =\ ) | ["'](\w+)(?=["'])""",
    re.MULTILINE | re.VERBOSE,
)


def list_packages() -> set[str]:
    """Return ``jpweb`` and the folders below it that hold modules."""
    return {str(path.parent) for path in list_modules("jpweb") if path.name != "__init__.py"}


def list_rows() -> list[Path]:
    """Return the modules that the map says to start at, each with two to four words.

    Raises ValueError for a line that is neither a layer nor such a row.
    """
    section = read_text(MAP).partition("\n## Packages\n")[2].partition("\n## ")[0]
    rows, folder = [], Path("jpweb")
    for line in section.partition("```\n")[2].partition("```")[0].splitlines():
        if row := _ROW.fullmatch(line):
            rows.append(folder / f"{row[1]}.py")
        elif _LAYER.fullmatch(line):
            folder = Path("jpweb") / line.removeprefix("jpweb")
        else:
            raise ValueError(line)
    return rows


def list_first_files() -> list[str]:
    """Return the files that the map says to read first."""
    section = read_text(MAP).partition("\n## Six files\n")[2].partition("\n## ")[0]
    return _STEP.findall(section)


def list_spans(page: Path) -> list[str]:
    """Return what a page has in backticks, code blocks left out, each once."""
    return list(dict.fromkeys(_SPAN.findall(_CODE_BLOCK.sub("", read_text(page)))))


def is_path(span: str) -> bool:
    """Tell whether a text looks like a file or folder of the project."""
    tops = {path.parts[0] for path in list_files()} | {
        path.parts[1] for path in list_modules("jpweb")
    }
    if _FOLDER.fullmatch(span):
        return span.partition("/")[0] in tops
    return bool(_FILE.fullmatch(span))


@cache
def list_names() -> frozenset[str]:
    """Return every file and folder, by its path from the root and from ``jpweb``."""
    names = {str(path) for path in list_files()}
    names |= {str(folder) for path in list_files() for folder in path.parents}
    return frozenset(names | {name.removeprefix("jpweb/") for name in names})


def is_known_path(span: str) -> bool:
    """Tell whether a file or folder exists; ``<name>`` in it stands for anything."""
    parts = _PLACEHOLDER.split(span.rstrip("/"))
    pattern = re.compile("[^/]+".join(map(re.escape, parts)))
    return any(pattern.fullmatch(name) for name in list_names())


@cache
def list_defined_names() -> frozenset[str]:
    """Return the functions, classes, constants and fields of the code, and its quoted tags."""
    code = "\n".join(read_text(path) for path in list_modules("jpweb", "tests"))
    return frozenset(name for names in _DEFINITION.findall(code) for name in names if name)


def test_map_has_a_row_for_each_package():
    assert {str(row.parent) for row in list_rows()} == list_packages()


def test_modules_that_the_map_says_to_start_at_exist():
    assert [row for row in list_rows() if row not in list_modules("jpweb")] == []


def test_map_has_one_row_a_package():
    folders = [row.parent for row in list_rows()]
    assert len(folders) == len(set(folders))


def test_map_names_six_short_files_to_read_first():
    lines_by_file = {
        name: len(read_text(Path("jpweb") / name).splitlines()) for name in list_first_files()
    }
    assert len(lines_by_file) == FIRST_FILES
    assert {name: n for name, n in lines_by_file.items() if n > MAX_FIRST_LINES} == {}


def test_map_takes_two_pages():
    assert len(read_text(MAP).encode()) <= MAX_BYTES


def test_map_keeps_room_for_rows():
    assert len(read_text(MAP).encode()) <= MAX_BYTES - ROW_BYTES, "see *a package* in CONTRIBUTING"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_files_that_a_page_names_exist(page: Path):
    dotted = [span.replace(".", "/") + ".py" for span in list_spans(page) if _DOTTED.match(span)]
    paths = [span for span in list_spans(page) if is_path(span)]
    assert paths
    assert [path for path in [*paths, *dotted] if not is_known_path(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_names_that_a_page_quotes_are_defined(page: Path):
    symbols = [span for span in list_spans(page) if _SYMBOL.fullmatch(span)]
    assert symbols
    assert [symbol for symbol in symbols if symbol not in list_defined_names()] == []


def test_module_names_of_a_layer_differ():
    holders: defaultdict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in list_modules("jpweb"):
        if path.parts[1] in LAYERS and path.name != "__init__.py":
            holders[path.parts[1], path.stem].append(path)
    shared = {key: paths for key, paths in holders.items() if len(paths) > 1}
    assert {key: paths for key, paths in shared.items() if key not in SHARED_NAMES} == {}
    assert set(SHARED_NAMES) - set(shared) == set(), "names that are not shared any more"


def test_class_names_differ():
    holders: defaultdict[str, list[Path]] = defaultdict(list)
    for path in list_modules("jpweb"):
        for name in read_outline(path).class_names:
            if name not in FRAMEWORK_CLASSES:
                holders[name].append(path)
    assert {name: paths for name, paths in holders.items() if len(paths) > 1} == {}


@pytest.mark.parametrize(
    "span", ["store/journal.py", "templates/events/<tag>.html", "jpweb/store", "asgi.py"]
)
def test_existing_paths_are_known(span: str):
    assert is_path(span)
    assert is_known_path(span)


@pytest.mark.parametrize(
    "span", ["store/diary.py", "templates/<tag>/none.html", "web/pages/<family>.py", "here.py"]
)
def test_missing_paths_are_recognized(span: str):
    assert is_path(span)
    assert not is_known_path(span)
