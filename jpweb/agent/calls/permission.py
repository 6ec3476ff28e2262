"""Whether a call may run, and whether the model may see its result (reference 10.3; RFD 018, 049).

These prompts are always for people, and no inquiries: nothing of them is recorded as one.
"""

from __future__ import annotations

from enum import Enum, auto

from jpweb.agent.config import Detached, Mode


class Permission(Enum):
    """What is to be done about a call before it runs."""

    RUN = auto()
    ASK = auto()
    EDIT = auto()
    SKIP = auto()
    SKIP_REMEMBERED = auto()
    DENY = auto()


class Delivery(Enum):
    """What is to be done about a result before the model sees it."""

    DELIVER = auto()
    ASK = auto()
    EDIT = auto()
    SKIP = auto()
    DENY = auto()


def permission(
    mode: Mode, remembered: bool | None, *, reachable: bool, detached: Detached
) -> Permission:
    """Decide, without side effects. A remembered decision counts only where somebody is asked."""
    if mode is Mode.UNATTENDED:
        return Permission.RUN
    if mode is Mode.SKIP:
        return Permission.SKIP
    if not reachable and detached is not Detached.WAIT:
        return Permission.RUN if detached is Detached.AUTO else Permission.DENY
    if remembered is not None:
        return Permission.RUN if remembered else Permission.SKIP_REMEMBERED
    return Permission.EDIT if mode is Mode.EDIT else Permission.ASK


def delivery(mode: Mode, *, reachable: bool, detached: Detached) -> Delivery:
    """Decide, without side effects."""
    if mode is Mode.UNATTENDED:
        return Delivery.DELIVER
    if mode is Mode.SKIP:
        return Delivery.SKIP
    if not reachable and detached is not Detached.WAIT:
        return Delivery.DELIVER if detached is Detached.AUTO else Delivery.DENY
    return Delivery.EDIT if mode is Mode.EDIT else Delivery.ASK
