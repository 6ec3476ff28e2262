"""Asks a person whether a call may run and whether its result may be seen (RFD 018)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from jpweb.agent.calls import texts
from jpweb.agent.calls.permission import Delivery, Permission, delivery, permission
from jpweb.agent.calls.result import Result
from jpweb.agent.calls.state import PermissionKey, TurnState
from jpweb.agent.config import Builtin, Local, Mcp, Mode, ToolConfig
from jpweb.agent.ports import (
    Delivered,
    DeliverPrompt,
    Permitted,
    Prompter,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.agent.setup import Setup
from jpweb.agent.stopping import Interrupts, Stopped, unless_stopped
from jpweb.stream.events import ToolCallRequest

#: Holds a tool's own result, until a person has let the model see it.
Hold: TypeAlias = Callable[[Result], Awaitable[None]]


class Prompting:
    """The permission and result prompts of a turn; permissions one at a time, in calling order."""

    def __init__(
        self,
        prompter: Prompter,
        state: TurnState,
        interrupts: Interrupts,
        setup: Setup,
    ) -> None:
        self._formatters = setup.formatters
        self._definitions = setup.definitions
        self._resting = state.resting
        self._prompter = prompter
        self._state = state
        self._interrupts = interrupts
        self._detached = setup.detached
        self._one_at_a_time = asyncio.Lock()

    async def permit(
        self, call: ToolCallRequest, tool: ToolConfig, *, asked: bool = False
    ) -> Mapping[str, Any] | Result | Stopped:
        """Return the arguments to run with, or what the call comes to without having run.

        ``asked``: a person has been asked about it before its process let go; they decide.
        """
        if tool.run is Mode.UNATTENDED and not asked:
            return call.arguments
        with self._resting.queued():
            await self._one_at_a_time.acquire()
        try:
            if asked:
                return await self._ask(call, tool, edit=tool.run is Mode.EDIT)
            return await self._by_policy(call, tool)
        finally:
            self._one_at_a_time.release()

    async def _by_policy(
        self, call: ToolCallRequest, tool: ToolConfig
    ) -> Mapping[str, Any] | Result | Stopped:
        way = permission(
            tool.run,
            self._state.remembered_permission_decisions.get(self._key(call.name)),
            reachable=await self._prompter.reachable(),
            detached=tool.detached.get("run", self._detached),
        )
        match way:
            case Permission.RUN:
                return call.arguments
            case Permission.SKIP:
                return Result(texts.SKIPPED)
            case Permission.SKIP_REMEMBERED:
                return Result(texts.SKIPPED_REMEMBERED)
            case Permission.DENY:
                return Result(texts.not_permitted(call.name), is_error=True)
            case Permission.ASK | Permission.EDIT:
                return await self._ask(call, tool, edit=way is Permission.EDIT)

    async def _ask(
        self, call: ToolCallRequest, tool: ToolConfig, *, edit: bool
    ) -> Mapping[str, Any] | Result | Stopped:
        form = self._formatters.get(call.name)
        shown = None if form is None else await form(call.arguments)
        key = self._key(call.name)
        prompt = RunPrompt(
            call.id, call.name, described(tool), call.arguments, edit, shown, key.definition
        )
        waiting = self._resting.until_decided(lambda: self._prompter.permit(prompt), gate=True)
        match await unless_stopped(waiting, self._interrupts):
            case Permitted(arguments, remember):
                if remember:
                    self._state.remembered_permission_decisions[key] = True
                return arguments
            case Skipped(reason, remember):
                if remember:
                    self._state.remembered_permission_decisions[key] = False
                return Result(texts.skipped(reason))
            case Stopped() as stopped:
                await self._prompter.put_away(prompt)
                return stopped

    def _key(self, tool: str) -> PermissionKey:
        return PermissionKey(tool, self._definitions.get(tool, ""))

    async def deliver(
        self, call: ToolCallRequest, tool: ToolConfig, result: Result, hold: Hold
    ) -> Result | Stopped:
        """Return what the model gets of a result, held while a person is asked about it."""
        if tool.result is Mode.UNATTENDED:
            return result
        way = delivery(
            tool.result,
            reachable=await self._prompter.reachable(),
            detached=tool.detached.get("deliver", self._detached),
        )
        match way:
            case Delivery.DELIVER:
                return result
            case Delivery.SKIP:
                return Result(texts.WITHHELD_BY_CONFIGURATION)
            case Delivery.DENY:
                return Result(texts.not_delivered(call.name), is_error=True)
            case Delivery.ASK | Delivery.EDIT:
                await hold(result)
                return await self.offer(call, result, edit=way is Delivery.EDIT)

    async def offer(self, call: ToolCallRequest, result: Result, *, edit: bool) -> Result | Stopped:
        """Return what a person lets the model see of a result, whatever the policy is."""
        prompt = DeliverPrompt(call.id, call.name, result.content, result.is_error, edit)
        waiting = self._resting.until_decided(lambda: self._prompter.deliver(prompt))
        match await unless_stopped(waiting, self._interrupts):
            case Delivered(content):
                edited = result.edited
                return result if content is None else Result(content, edited=edited)
            case Withheld():
                return Result(texts.WITHHELD, edited=result.edited)
            case Stopped() as stopped:
                await self._prompter.put_away(prompt)
                return stopped


def described(tool: ToolConfig) -> str:
    """Return the name of a tool and where it comes from, for people."""
    match tool.source:
        case Builtin():
            return f"{tool.name} (built-in)"
        case Local():
            return f"{tool.name} (local)"
        case Mcp(server):
            return f"{tool.name} (MCP server {server})"
