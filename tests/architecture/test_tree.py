from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, list_files, list_templates, read_text

FOLDERS = {"jpweb", "templates", "static", "tests", "docs"}
TOOLS = {"manage.py", "pyproject.toml", "Makefile", "constraints.txt"}
PAPERS = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"}
LOCK = re.compile(r".*\.lock|.*-lock\.\w+|pdm\.lock|npm-shrinkwrap\.json")
#: What one machine knows and another does not: its folders, and where it installs from.
ELSEWHERE = re.compile(
    r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/"
    r"|pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|deb\.debian\.org|index[-]url",
    re.IGNORECASE,
)
#: What the Content-Security-Policy refuses, and what would need eval.
INLINE = re.compile(
    r"<script(?![^>]*\ssrc=)|<style\b|\sstyle\s*=|\son[a-z]+\s*=|hx-on\b|javascript:|js:\{",
    re.IGNORECASE,
)


def list_matches(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path}: {match[0]}"
        for path in paths
        if not (content := (ROOT / path).read_bytes()).count(0)
        for match in pattern.finditer(content.decode(errors="replace"))
    ]


def test_top_level_has_only_listed_files():
    tops = {path.parts[0] for path in list_files()}
    assert {top for top in tops if not top.startswith(".")} == FOLDERS | TOOLS | PAPERS


def test_repository_has_no_lock_file():
    assert [path for path in list_files() if LOCK.fullmatch(path.name)] == []


def test_files_name_no_machine_or_registry():
    assert list_matches(ELSEWHERE, list_files()) == []


def test_templates_carry_no_inline_script_or_style():
    assert list_matches(INLINE, list_templates()) == []


@pytest.mark.parametrize(
    "bad",
    ["<script>", "<script type=module>", "<p style='x'>", '<a onclick="x">', "<b hx-on:click=x>"],
)
def test_inline_code_is_recognized(bad: str):
    assert INLINE.search(bad)


@pytest.mark.parametrize("good", ['<script src="x.js" defer>', "<p data-kind=x>", "on = off"])
def test_harmless_markup_is_not_taken_for_inline_code(good: str):
    assert not INLINE.search(good)


def test_constraints_are_exact_versions_in_order():
    lines = read_text(Path("constraints.txt")).splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    names = [line.partition("==")[0].lower() for line in lines]
    assert names == sorted(names)
