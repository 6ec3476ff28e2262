"""Compiles a tool's access rules into the policy that JP hands to local tools.

The rules are JP's (docs/jp-format.md, Access rules). The tool judges its own paths by the
policy; jpweb does not confine it.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jpweb.agent.config import CAPABILITIES, AccessRule

logger = logging.getLogger(__name__)
#: Errors of a path at which there is nothing.
_MISSING_ERRNOS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class InvalidAccess(Exception):
    """A rule cannot hold in this workspace; the message says why. The tool does not run."""


def compile_access(
    rules: Sequence[AccessRule] | None, root: Path, approved_targets: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the policy; None without rules, which leaves the tool unrestricted in the workspace.

    ``approved_targets`` has the approved target of each external path. External rules without one
    are dropped; where no rule is left, everything is denied. Raises InvalidAccess.
    """
    if rules is None:
        return None
    real_root = root.resolve()
    compiled_rules = [_compile_rule(rule, real_root, approved_targets) for rule in rules]
    policy_rules = [rule for rule in compiled_rules if rule is not None]
    if rules and not policy_rules:
        # An empty list would allow everything.
        policy_rules = [_write_rule(AccessRule(""), "", None)]
    return {"fs": policy_rules, "net": [], "env": []}


def _compile_rule(
    rule: AccessRule, root: Path, approved_targets: Mapping[str, str]
) -> dict[str, Any] | None:
    parts = _split_path(rule.path)
    target = _resolve_target(root, parts)
    if not rule.external:
        if target is None or not target.is_relative_to(root):
            raise InvalidAccess(f"access rule path is not workspace-relative: {rule.path}")
        relative_path = target.relative_to(root).as_posix()
        return _write_rule(rule, "" if relative_path == "." else relative_path, None)
    lexical_path = "/".join(parts)
    if target is None or not _exists(root / lexical_path):
        logger.warning("access rule %r is ignored: its target is missing", rule.path)
        return None
    if target.is_relative_to(root):
        raise InvalidAccess(
            f"access rule '{rule.path}' sets external = true but resolves inside the workspace; "
            "remove external"
        )
    if approved_targets.get(lexical_path) != str(target):
        logger.warning("access rule %r is ignored: its target is not approved", rule.path)
        return None
    return _write_rule(rule, lexical_path, str(target))


def _split_path(path: str) -> list[str]:
    """Return the components of a path below the root. Raises InvalidAccess for any other path."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise InvalidAccess(f"access rule path is not workspace-relative: {path}")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if path.startswith("/"):
        raise InvalidAccess(f"access rule path is not workspace-relative: {path}")
    return parts


def _resolve_target(root: Path, parts: Sequence[str]) -> Path | None:
    """Return where a path leads: its deepest existing part resolved, and the rest appended.

    None where the file system refuses to tell.
    """
    try:
        for length in range(len(parts), -1, -1):
            candidate = root.joinpath(*parts[:length])
            if _exists(candidate):
                return candidate.resolve().joinpath(*parts[length:])
    except OSError:
        return None
    return None


def _exists(path: Path) -> bool:
    """Tell whether there is something. Raises OSError, as ``exists`` does up to Python 3.13."""
    try:
        path.stat()
    except ValueError:  # for a NUL in the path
        return False
    except OSError as error:
        if error.errno not in _MISSING_ERRNOS:
            raise
        return False
    return True


def _write_rule(rule: AccessRule, lexical_path: str, approved_target: str | None) -> dict[str, Any]:
    return {
        "lexical_path": lexical_path,
        "external": rule.external,
        "approved_target": approved_target,
        **{capability: getattr(rule, capability) for capability in CAPABILITIES},
    }
