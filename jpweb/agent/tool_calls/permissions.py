"""Decides whether a call may run, and the model see its result (docs/jp-format.md, Permissions).

These prompts are always for people and are not recorded as inquiries (RFD 018). Where a policy
decides in place of a person (RFD 049), a note beside the call's response says which.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import Any

from jpweb.agent.config import ApprovalMode, BuiltinSource, DetachedPolicy, ToolConfig
from jpweb.agent.ports import PermissionSource


class PermissionAction(Enum):
    """The action before a call runs."""

    RUN = auto()
    ASK = auto()
    EDIT = auto()
    SKIP = auto()
    SKIP_REMEMBERED = auto()
    DENY = auto()


class DeliveryAction(Enum):
    """The action before the model sees a result."""

    DELIVER = auto()
    ASK = auto()
    EDIT = auto()
    SKIP = auto()
    DENY = auto()


class Policy(StrEnum):
    """A policy that decides in place of a person."""

    SKIP = "skip"
    DETACHED = "detached"
    REMEMBERED = "remembered"
    UNATTENDED = "unattended"


def decide_permission(
    mode: ApprovalMode,
    remembered_decision: bool | None,
    *,
    is_person_reachable: bool,
    detached_policy: DetachedPolicy,
) -> PermissionAction:
    """Return the action; no side effects. A remembered decision replaces asking a person."""
    if mode is ApprovalMode.UNATTENDED:
        return PermissionAction.RUN
    if mode is ApprovalMode.SKIP:
        return PermissionAction.SKIP
    if not is_person_reachable and detached_policy is not DetachedPolicy.WAIT:
        return (
            PermissionAction.RUN
            if detached_policy is DetachedPolicy.AUTO
            else PermissionAction.DENY
        )
    if remembered_decision is not None:
        return PermissionAction.RUN if remembered_decision else PermissionAction.SKIP_REMEMBERED
    return PermissionAction.EDIT if mode is ApprovalMode.EDIT else PermissionAction.ASK


def decide_delivery(
    mode: ApprovalMode, *, is_person_reachable: bool, detached_policy: DetachedPolicy
) -> DeliveryAction:
    """Return the action; no side effects."""
    if mode is ApprovalMode.UNATTENDED:
        return DeliveryAction.DELIVER
    if mode is ApprovalMode.SKIP:
        return DeliveryAction.SKIP
    if not is_person_reachable and detached_policy is not DetachedPolicy.WAIT:
        return (
            DeliveryAction.DELIVER
            if detached_policy is DetachedPolicy.AUTO
            else DeliveryAction.DENY
        )
    return DeliveryAction.EDIT if mode is ApprovalMode.EDIT else DeliveryAction.ASK


def find_policy(
    mode: ApprovalMode, *, is_person_reachable: bool, detached_policy: DetachedPolicy
) -> Policy:
    """Return the policy that decided where no prompt was made; only for modes that ask or skip."""
    if mode is ApprovalMode.SKIP:
        return Policy.SKIP
    is_detached = not is_person_reachable and detached_policy is not DetachedPolicy.WAIT
    return Policy.DETACHED if is_detached else Policy.REMEMBERED


def make_policy_note(
    tool: str, policy: Policy, *, is_allowed: bool, source: PermissionSource | None = None
) -> dict[str, Any]:
    """Return the note of a policy's decision; ``source``: of the permission that still holds."""
    is_remembered = policy is Policy.REMEMBERED
    decider: dict[str, Any] = {"kind": "memory" if is_remembered else "configuration"}
    note = {"tool": tool, "policy": str(policy), "allow": is_allowed, "by": decider}
    if is_remembered and source is not None:
        decider |= {"name": source.person_name, "id": source.person_id}
        note["approval"] = source.approval_id
    return note


def note_unattended(tool: ToolConfig) -> dict[str, dict[str, Any]]:
    """Return the notes of a call that runs without asking, with the setting that says so.

    Calls of built-in tools have none: they read what the model is sent anyway, or ask a person,
    and that question is on record.
    """
    if isinstance(tool.source, BuiltinSource):
        return {}
    note = make_policy_note(tool.name, Policy.UNATTENDED, is_allowed=True)
    place = {} if tool.run_setting is None else tool.run_setting._asdict()
    return {"permission": note | place}
