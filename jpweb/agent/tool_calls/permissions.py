"""Decides whether a call may run, and the model see its result (reference 10.3; RFD 018, 049).

These prompts are always for people and are not recorded as inquiries.
"""

from __future__ import annotations

from enum import Enum, auto

from jpweb.agent.config import DetachedPolicy, Mode


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


def decide_permission(
    mode: Mode, remembered: bool | None, *, reachable: bool, detached: DetachedPolicy
) -> PermissionAction:
    """Return the action; no side effects. A remembered decision replaces asking a person."""
    if mode is Mode.UNATTENDED:
        return PermissionAction.RUN
    if mode is Mode.SKIP:
        return PermissionAction.SKIP
    if not reachable and detached is not DetachedPolicy.WAIT:
        return PermissionAction.RUN if detached is DetachedPolicy.AUTO else PermissionAction.DENY
    if remembered is not None:
        return PermissionAction.RUN if remembered else PermissionAction.SKIP_REMEMBERED
    return PermissionAction.EDIT if mode is Mode.EDIT else PermissionAction.ASK


def decide_delivery(mode: Mode, *, reachable: bool, detached: DetachedPolicy) -> DeliveryAction:
    """Return the action; no side effects."""
    if mode is Mode.UNATTENDED:
        return DeliveryAction.DELIVER
    if mode is Mode.SKIP:
        return DeliveryAction.SKIP
    if not reachable and detached is not DetachedPolicy.WAIT:
        return DeliveryAction.DELIVER if detached is DetachedPolicy.AUTO else DeliveryAction.DENY
    return DeliveryAction.EDIT if mode is Mode.EDIT else DeliveryAction.ASK
