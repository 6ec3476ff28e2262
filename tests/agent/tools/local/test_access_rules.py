"""Access rules become the policy that JP hands to local tools (docs/jp-format.md, Access rules)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.agent.config import AccessRule, ToolCommand
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.local.access_rules import InvalidAccess, compile_access
from tests.agent.tools.local.commands import make_python_command, run_tool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a workspace with a folder, a link inside, one that leaves it, and a dangling one."""
    root = tmp_path / "work"
    (root / "real").mkdir(parents=True)
    (root / "alias").symlink_to("real")
    (tmp_path / "lib").mkdir()
    (root / "out").symlink_to(tmp_path / "lib")
    (root / "gone").symlink_to(tmp_path / "missing")
    return root


def compile_paths(root: Path, *rules: AccessRule, approved: dict[str, str] | None = None) -> Any:
    policy = compile_access(rules, root, approved or {})
    assert policy
    assert (policy["net"], policy["env"]) == ([], [])
    return policy["fs"]


def test_compile_access_without_rules_is_unrestricted(root: Path):
    assert compile_access(None, root, {}) is None
    assert compile_access((), root, {}) == {"fs": [], "net": [], "env": []}


def test_a_rule_has_all_nine_keys_and_write_is_not_expanded(root: Path):
    assert compile_paths(root, AccessRule(".", read=True, write=True, delete=False)) == [
        {
            "lexical_path": "",
            "external": False,
            "approved_target": None,
            "read": True,
            "write": True,
            "create": None,
            "update": None,
            "delete": False,
            "execute": None,
        }
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".", ""),
        ("", ""),
        ("real", "real"),
        ("real/", "real"),
        ("alias/x", "real/x"),
        ("src/./a/../b", "src/b"),
        ("new/deep/file", "new/deep/file"),
        ("gone", "gone"),  # a dangling link counts as what does not exist
        ("gone/x", "gone/x"),
    ],
)
def test_a_path_is_the_one_to_which_its_links_lead(root: Path, path: str, expected: str):
    (rule,) = compile_paths(root, AccessRule(path, read=True))
    assert rule["lexical_path"] == expected


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("path", ["/etc", "../x", "a/../../b", ".."])
def test_a_path_that_leaves_the_workspace_is_refused(root: Path, path: str, external: bool):
    with pytest.raises(InvalidAccess) as error:
        compile_paths(root, AccessRule(path, external))
    assert str(error.value) == f"access rule path is not workspace-relative: {path}"


def test_a_link_that_leaves_the_workspace_is_refused_without_external(root: Path):
    with pytest.raises(InvalidAccess, match="not workspace-relative: out/x"):
        compile_paths(root, AccessRule("out/x", read=True))


def test_an_external_rule_holds_for_its_approved_target(root: Path):
    target = str((root.parent / "lib").resolve())
    (rule,) = compile_paths(
        root, AccessRule("./out/", external=True, write=True), approved={"out": target}
    )
    assert (rule["lexical_path"], rule["approved_target"]) == ("out", target)
    assert (rule["external"], rule["write"], rule["read"]) == (True, True, None)


@pytest.mark.parametrize(
    ("path", "approved"),
    [("out", {}), ("out", {"out": "/elsewhere"}), ("gone", {}), ("absent", {})],
)
def test_an_external_rule_without_approval_or_target_is_dropped(
    root: Path, path: str, approved: dict[str, str]
):
    rules = compile_paths(
        root, AccessRule("real", read=True), AccessRule(path, external=True), approved=approved
    )
    assert [rule["lexical_path"] for rule in rules] == ["real"]


def test_compile_access_with_only_dropped_rules_denies_all_paths(root: Path):
    (rule,) = compile_paths(root, AccessRule("out", external=True, read=True))
    assert rule["lexical_path"] == ""
    assert not any(rule[name] for name in ("external", "read", "write", "delete", "execute"))


def test_external_access_rule_inside_the_root_is_refused(root: Path):
    with pytest.raises(InvalidAccess, match="'alias' sets external = true but resolves inside"):
        compile_paths(root, AccessRule("alias", external=True))


def print_access() -> ToolCommand:
    return make_python_command(
        "import json, sys; print(json.loads(sys.argv[1])['access']['fs'][0]['lexical_path'])",
        "{{context}}",
    )


async def test_the_tool_gets_the_policy_and_does_not_run_under_an_invalid_one(root: Path):
    outcome = await run_tool(print_access(), root, access=(AccessRule("alias", read=True),))
    assert outcome == Success("real\n")
    refused = await run_tool(print_access(), root, access=(AccessRule("/etc"),))
    assert isinstance(refused, Failed)
    assert refused.message.startswith("invalid access policy for tool '")
    assert refused.message.endswith("access rule path is not workspace-relative: /etc")


@pytest.mark.parametrize("path", ["x" * 300, "real"])
def test_access_rule_with_an_unresolvable_target_is_refused(root: Path, path: str):
    place = root if path != "real" else root / "nowhere"
    with pytest.raises(InvalidAccess, match="not workspace-relative"):
        compile_paths(place, AccessRule(path))
