"""All cases of table 10.3, times the detached policies, for calls and for results."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from jpweb.agent.config import DetachedPolicy, Mode
from jpweb.agent.tool_calls.permissions import (
    DeliveryAction,
    PermissionAction,
    decide_delivery,
    decide_permission,
)

# The first row that matches decides.
# run, remembered, reachable, detached; how many; what happens
PERMISSIONS = """
 unattended  *    *    *         24  RUN
 skip        *    *    *         24  SKIP
 *           *    no   auto       6  RUN
 *           *    no   deny       6  DENY
 *           *    no   defaults   6  DENY
 *           yes  *    *         10  RUN
 *           no   *    *         10  SKIP_REMEMBERED
 ask         -    *    *          5  ASK
 edit        -    *    *          5  EDIT
"""
# result, reachable, detached; how many; what happens
DELIVERIES = """
 unattended  *    *          8  DELIVER
 skip        *    *          8  SKIP
 *           no   auto       2  DELIVER
 *           no   deny       2  DENY
 *           no   defaults   2  DENY
 ask         *    *          5  ASK
 edit        *    *          5  EDIT
"""
MODES = [mode.value for mode in Mode]
POLICIES = [policy.value for policy in DetachedPolicy]
REMEMBERED = {"yes": True, "no": False, "-": None}
REACHABLE = {"yes": True, "no": False}
CALLS = list(product(MODES, REMEMBERED, REACHABLE, POLICIES))
RESULTS = list(product(MODES, REACHABLE, POLICIES))


def rows(table) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def first(table, case) -> Any:
    """Return the first row of the table that matches."""
    for row in rows(table):
        if all(cell in ("*", value) for cell, value in zip(row, case, strict=False)):
            return row
    raise LookupError(case)


@pytest.mark.parametrize(("table", "cases"), [(PERMISSIONS, CALLS), (DELIVERIES, RESULTS)])
def test_the_rows_decide_every_case_as_often_as_they_say(table, cases):
    assert len(cases) == sum(int(row[-2]) for row in rows(table))
    for row in rows(table):
        assert sum(first(table, case) == row for case in cases) == int(row[-2]), row


@pytest.mark.parametrize("case", CALLS, ids="-".join)
def test_a_call_may_run_as_the_table_says(case):
    mode, memory, reachable, policy = case
    action = decide_permission(
        Mode(mode),
        REMEMBERED[memory],
        reachable=REACHABLE[reachable],
        detached=DetachedPolicy(policy),
    )
    assert action is PermissionAction[first(PERMISSIONS, case)[-1]]


@pytest.mark.parametrize("case", RESULTS, ids="-".join)
def test_a_result_is_delivered_as_the_table_says(case):
    mode, reachable, policy = case
    action = decide_delivery(
        Mode(mode), reachable=REACHABLE[reachable], detached=DetachedPolicy(policy)
    )
    assert action is DeliveryAction[first(DELIVERIES, case)[-1]]


@pytest.mark.parametrize(
    "policy", [DetachedPolicy.AUTO, DetachedPolicy.DENY, DetachedPolicy.DEFAULTS]
)
def test_a_remembered_decision_does_not_hold_where_nobody_is_asked(policy):
    actions = {
        decide_permission(Mode.ASK, memory, reachable=False, detached=policy)
        for memory in (True, False, None)
    }
    assert len(actions) == 1
