"""Asks a person whether a call may run and whether its result may be seen (RFD 018)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from jpweb.agent.config import ApprovalMode, BuiltinSource, LocalSource, McpSource, ToolConfig
from jpweb.agent.interrupts import InterruptedResult, Interrupts, run_interruptible
from jpweb.agent.ports import (
    Delivered,
    DeliverPrompt,
    FormatCall,
    PermissionSource,
    Permitted,
    Prompter,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.permissions import (
    DeliveryAction,
    PermissionAction,
    decide_delivery,
    decide_permission,
    find_policy,
    make_policy_note,
    note_unattended,
)
from jpweb.agent.tool_calls.result import CallResult, Permission
from jpweb.agent.tool_calls.turn_state import PermissionKey, TurnState
from jpweb.agent.turn_setup import TurnSetup
from jpweb.stream.events import ToolCallRequest

#: Saves a tool's own result until a person decides whether the model may see it.
SaveResult: TypeAlias = Callable[[CallResult], Awaitable[None]]


class PermissionPrompts:
    """The permission and result prompts of a turn; permissions one at a time, in calling order.

    Results of calls that share an id are offered one at a time: a prompt is found by its call's id.
    """

    def __init__(
        self,
        prompter: Prompter,
        state: TurnState,
        interrupts: Interrupts,
        setup: TurnSetup,
        format_call: FormatCall,
    ) -> None:
        self._format_call = format_call
        self._definitions = setup.definitions
        self._idle_tracker = state.idle_tracker
        self._prompter = prompter
        self._state = state
        self._interrupts = interrupts
        self._detached = setup.detached
        self._sources = {
            PermissionKey(*key): source for key, source in setup.permission_sources.items()
        }
        self._prompt_lock = asyncio.Lock()
        self._result_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def permit_call(
        self, call: ToolCallRequest, tool: ToolConfig, *, is_asked: bool = False
    ) -> Permission | CallResult | InterruptedResult:
        """Return the arguments to run with, or the result of the call without having run.

        ``is_asked``: a person was asked about it before its process released it; they decide.
        """
        if tool.run is ApprovalMode.UNATTENDED and not is_asked:
            return Permission(call.arguments, policies=note_unattended(tool))
        with self._idle_tracker.track_wait_at_gate():
            await self._prompt_lock.acquire()
        try:
            if is_asked:
                return await self._ask_person(call, tool, edit=tool.run is ApprovalMode.EDIT)
            return await self._apply_policy(call, tool)
        finally:
            self._prompt_lock.release()

    async def _apply_policy(
        self, call: ToolCallRequest, tool: ToolConfig
    ) -> Permission | CallResult | InterruptedResult:
        key = self._make_permission_key(call.name)
        is_person_reachable = await self._prompter.has_reachable_person()
        detached_policy = tool.detached.get("run", self._detached)
        remembered_decision = self._state.remembered_permission_decisions.get(key)
        action = decide_permission(
            tool.run,
            remembered_decision,
            is_person_reachable=is_person_reachable,
            detached_policy=detached_policy,
        )
        policy = find_policy(
            tool.run, is_person_reachable=is_person_reachable, detached_policy=detached_policy
        )
        is_allowed = action is PermissionAction.RUN
        source = self._sources.get(key)
        policy_note = make_policy_note(call.name, policy, is_allowed=is_allowed, source=source)
        policies = {"permission": policy_note}
        match action:
            case PermissionAction.RUN:
                return Permission(call.arguments, policies=policies)
            case PermissionAction.SKIP:
                return CallResult(model_messages.SKIPPED, policies=policies)
            case PermissionAction.SKIP_REMEMBERED:
                return CallResult(model_messages.SKIPPED_REMEMBERED, policies=policies)
            case PermissionAction.DENY:
                text = model_messages.describe_not_permitted(call.name)
                return CallResult(text, is_error=True, policies=policies)
            case PermissionAction.ASK | PermissionAction.EDIT:
                return await self._ask_person(call, tool, edit=action is PermissionAction.EDIT)

    async def _ask_person(
        self, call: ToolCallRequest, tool: ToolConfig, *, edit: bool
    ) -> Permission | CallResult | InterruptedResult:
        arguments_text = await self._format_call(call)
        key = self._make_permission_key(call.name)
        prompt = RunPrompt(
            call.id,
            call.name,
            describe_tool(tool),
            call.arguments,
            edit,
            arguments_text,
            key.definition,
        )
        decision = self._idle_tracker.wait_for_decision(
            lambda: self._prompter.permit(prompt), gate=True
        )
        match await run_interruptible(decision, self._interrupts):
            case Permitted(arguments, remember, source):
                if remember:
                    self._remember(key, source, is_allowed=True)
                return Permission(arguments)
            case Skipped(reason, remember, source):
                if remember:
                    self._remember(key, source, is_allowed=False)
                return CallResult(model_messages.describe_skip(reason))
            case InterruptedResult() as interruption:
                await self._prompter.close_prompt(prompt)
                return interruption

    def _remember(
        self, key: PermissionKey, source: PermissionSource | None, *, is_allowed: bool
    ) -> None:
        self._state.remembered_permission_decisions[key] = is_allowed
        self._sources.pop(key, None)
        if source is not None:
            self._sources[key] = source

    def _make_permission_key(self, tool: str) -> PermissionKey:
        return PermissionKey(tool, self._definitions.get(tool, ""))

    async def deliver_result(
        self, call: ToolCallRequest, tool: ToolConfig, result: CallResult, save_result: SaveResult
    ) -> CallResult | InterruptedResult:
        """Return the result for the model, saved while a person is asked about it."""
        if tool.result is ApprovalMode.UNATTENDED:
            return result
        is_person_reachable = await self._prompter.has_reachable_person()
        detached_policy = tool.detached.get("deliver", self._detached)
        action = decide_delivery(
            tool.result, is_person_reachable=is_person_reachable, detached_policy=detached_policy
        )
        policy = find_policy(
            tool.result, is_person_reachable=is_person_reachable, detached_policy=detached_policy
        )
        is_allowed = action is DeliveryAction.DELIVER
        policy_note = make_policy_note(call.name, policy, is_allowed=is_allowed)
        decided_result = replace(result, policies={**result.policies, "delivery": policy_note})
        match action:
            case DeliveryAction.DELIVER:
                return decided_result
            case DeliveryAction.SKIP:
                text = model_messages.WITHHELD_BY_CONFIGURATION
                return replace(decided_result, content=text, is_error=False)
            case DeliveryAction.DENY:
                text = model_messages.describe_not_delivered(call.name)
                return replace(decided_result, content=text, is_error=True)
            case DeliveryAction.ASK | DeliveryAction.EDIT:
                await save_result(result)
                return await self.offer_result(call, result, edit=action is DeliveryAction.EDIT)

    async def offer_result(
        self, call: ToolCallRequest, result: CallResult, *, edit: bool
    ) -> CallResult | InterruptedResult:
        """Ask a person, under any policy, and return the result for the model."""
        prompt = DeliverPrompt(call.id, call.name, result.content, result.is_error, edit)
        async with self._result_locks[call.id]:
            return await self._ask_about_result(prompt, result)

    async def _ask_about_result(
        self, prompt: DeliverPrompt, result: CallResult
    ) -> CallResult | InterruptedResult:
        decision = self._idle_tracker.wait_for_decision(lambda: self._prompter.deliver(prompt))
        match await run_interruptible(decision, self._interrupts):
            case Delivered(content):
                if content is None:
                    return result
                return replace(result, content=content, is_error=False)
            case Withheld():
                return replace(result, content=model_messages.WITHHELD, is_error=False)
            case InterruptedResult():
                await self._prompter.close_prompt(prompt)
                return InterruptedResult(result.edited, result.policies)


def describe_tool(tool: ToolConfig) -> str:
    """Return a description of the tool that is about to run, for people."""
    match tool.source:
        case BuiltinSource():
            return f"{tool.name} (built-in)"
        case LocalSource():
            return f"{tool.name} (local)"
        case McpSource(server):
            return f"{tool.name} (MCP server {server})"
