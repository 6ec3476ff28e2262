"""The files and folders that recipes of ``CONTRIBUTING.md`` name have room for what is added."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.test_map import list_spans
from tests.architecture.test_sizes import FILE_LINES, MODULES_A_FOLDER
from tests.architecture.tree import ROOT, list_modules, read_text

RECIPES = Path("CONTRIBUTING.md")
HEADING = "\n## Where to add things\n"
#: Room that a recipe finds: modules of a folder, lines of a file.
FREE_MODULES, FREE_LINES = 2, 20


def list_named_paths() -> list[Path]:
    """Return the paths that recipes name; ``<name>`` in one stands for any name."""
    section = read_text(RECIPES).partition(HEADING)[2].partition("\n## ")[0]
    return [Path(span) for span in list_spans(RECIPES) if "/" in span and f"`{span}`" in section]


NAMED_FILES = [path for path in list_named_paths() if (ROOT / path).suffix == ".py"]
FOLDERS = {path for path in list_named_paths() if (ROOT / path).is_dir()} | {
    path.parent for path in NAMED_FILES if "<" in path.name
}


def test_recipes_name_files_and_folders():
    assert len(NAMED_FILES) > 30
    assert len(FOLDERS) > 8


@pytest.mark.parametrize("folder", sorted(FOLDERS), ids=str)
def test_folder_of_a_recipe_has_room(folder: Path):
    modules = [p for p in list_modules("jpweb", "tests") if p.parent == folder]
    count = sum(module.name != "__init__.py" for module in modules)
    assert count <= MODULES_A_FOLDER - FREE_MODULES, "first follow the recipe of a package"


@pytest.mark.parametrize("path", [p for p in NAMED_FILES if "<" not in str(p)], ids=str)
def test_file_of_a_recipe_has_room(path: Path):
    assert len(read_text(path).splitlines()) <= FILE_LINES - FREE_LINES, "first split the file"
