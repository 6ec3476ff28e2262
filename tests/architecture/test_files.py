"""A workspace's files are reached by one module, which follows no link.

What the agent does with paths is listed here: tools start programs of the workspace, and their
options lead to its files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import list_modules, walk_nodes

DOOR = Path("jpweb/store/jp_files/directory_handles.py")
#: Methods of a path that look at, open or change what it names.
METHODS = {
    "chmod", "exists", "expanduser", "glob", "is_mount", "iterdir", "lstat", "mkdir",
    "open", "owner", "read_bytes", "read_text", "readlink", "resolve", "rglob", "rmdir", "samefile",
    "symlink_to", "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
#: Functions of ``os`` that take a descriptor, or no file at all.
ALLOWED = {
    "close", "cpu_count", "environ", "fsdecode", "fsencode", "fstat", "ftruncate", "getpid", "kill",
    "nice", "path", "pathsep", "pread", "pwrite", "sched_getaffinity",
}  # fmt: skip
#: Calls of the agent that reach files, and why they wait for nothing that a workspace holds.
AGENT_TOUCHES = {
    # Names of paths, which are compiled for the tool.
    "tools/local/access_rules.py": {
        "candidate.resolve", "path.stat", "root.resolve",
    },
    # A call's files, in a folder of our own.
    "tools/local/private_file.py": {
        "from tempfile import TemporaryDirectory, gettempdir", "folder.lstat", "import shutil",
        "os.access", "os.fdopen", "os.getuid", "os.open", "parent.iterdir",
    },
    "tools/local/subprocess_runner.py": {"os.killpg"},
    # Opened without waiting; only a regular file is read, and only up to a size.
    "tools/mcp/program_file.py": {"import shutil", "os.fdopen", "os.open"},
}  # fmt: skip
MODULES = {"glob", "shutil", "tempfile", "fileinput", "io"}


def touches(path: Path) -> Iterator[str]:
    """Yield what a module does with paths by itself."""
    for node in walk_nodes(path):
        if isinstance(node, ast.Call) and _is_touch(node):
            yield f"{path}:{node.lineno} {ast.unparse(node.func)}"
        elif isinstance(node, ast.Import | ast.ImportFrom) and MODULES & _list_imported(node):
            yield f"{path}:{node.lineno} {ast.unparse(node)}"


def _list_imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.ImportFrom):
        return {node.module or ""}
    return {alias.name for alias in node.names}


def _is_touch(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name == "open"
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name not in ALLOWED
        case ast.Attribute(value=ast.Call(), attr="exists"):  # a query's
            return False
        case ast.Attribute(attr=name):
            is_method = name in {"is_dir", "is_file", "stat"} and not (call.args or call.keywords)
            return is_method or name in METHODS
        case _:
            return False


def test_workspace_files_are_opened_by_one_module():
    disk = [path for path in list_modules("jpweb") if path.is_relative_to("jpweb/store/jp_files")]
    assert DOOR in disk
    assert [line for path in disk if path != DOOR for line in touches(path)] == []


@pytest.mark.parametrize("path", [DOOR])
def test_file_access_rule_detects_the_calls_of_that_module(path: Path):
    assert len(list(touches(path))) > 10


def test_agent_reaches_files_in_the_listed_places_alone():
    agent = Path("jpweb/agent")
    calls_by_module = {
        str(path.relative_to(agent)): {line.partition(" ")[2] for line in touches(path)}
        for path in list_modules("jpweb")
        if path.is_relative_to(agent)
    }
    assert {name: calls for name, calls in calls_by_module.items() if calls} == AGENT_TOUCHES
