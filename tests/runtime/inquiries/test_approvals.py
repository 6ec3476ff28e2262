"""Permission and delivery prompts, from the call that waits to the person who decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.ports import (
    Delivered,
    DeliverPrompt,
    PermissionSource,
    Permitted,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.store import approvals as rows
from jpweb.store import runs
from jpweb.store.choices import ApprovalKind
from jpweb.store.errors import AlreadyDecided, UnknownApproval
from jpweb.store.inquiries import Decider
from jpweb.store.models import Approval, Run
from jpweb.stream.errors import InvalidAnswer
from jpweb.stream.inquiry import CancellationReason
from tests.runtime.playing import Scene, cut_off, eventually, subscribe, wait_for_task
from tests.store import making
from tests.store.making import decider

ARGUMENTS = {"path": "a.md", "lines": [1, 2.5, True, None], "deep": {"ü": "ß"}}
RUN = RunPrompt("call_1", "vault", "vault (local)", ARGUMENTS)
RESULT = DeliverPrompt("call_1", "vault", "one\r\ntwo", is_error=False)
FAILED = DeliverPrompt("call_1", "vault", "It broke.", is_error=True)
ALLOW, REFUSE = ApprovalVerdict(True), ApprovalVerdict(False)


async def begin_run(scene: Scene) -> Run:
    return await run_in_db_thread(making.start_run, scene.conversation, scene.ada)


def prompter(scene: Scene) -> BrowserPrompter:
    return BrowserPrompter(scene.conversation.pk, scene.workspace.pk, lambda: Decider("system"))


async def start_call(call: Coroutine[Any, Any, Any]) -> tuple[asyncio.Task[Any], Approval]:
    """Start a call; return once its prompt is there and it waits for it."""
    task = asyncio.create_task(call)

    async def row() -> Approval | None:
        approval: Approval | None = await run_in_db_thread(
            Approval.objects.filter(state="open").first
        )
        return (
            approval
            if approval is not None and approval.pk in approvals.decision_waiters.waiters_by_key
            else None
        )

    return task, await eventually(row)


async def ask_approval(scene: Scene, prompt: RunPrompt | DeliverPrompt) -> tuple[Any, Approval]:
    await begin_run(scene)
    ask = prompter(scene).permit if isinstance(prompt, RunPrompt) else prompter(scene).deliver
    return await start_call(ask(prompt))  # type: ignore[arg-type]  # each gets its own kind


def as_sent(text: str) -> str:
    """Return a text as browsers send what stands in a field."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (ALLOW, Permitted(ARGUMENTS)),
        (ApprovalVerdict(True, remember=True), Permitted(ARGUMENTS, remember=True)),
        (ApprovalVerdict(True, text='{"path": "b.md"}'), Permitted({"path": "b.md"})),
        (ApprovalVerdict(True, text=" {}\r\n"), Permitted({})),
        (REFUSE, Skipped()),
        (ApprovalVerdict(False, reason=" Not\r\nthis \0one "), Skipped("Not\nthis one")),
        (ApprovalVerdict(False, reason="x" * 3_000), Skipped("x" * 2_000)),
        (ApprovalVerdict(False, remember=True), Skipped(remember=True)),
    ],
)
async def test_run_approval_decides_the_permission_of_the_call(
    scene: Scene, verdict: ApprovalVerdict, expected: Any
):
    call, row = await ask_approval(scene, RUN)
    settled_approval = await approvals.decide_approval(row.pk, verdict, decider(scene.eve))
    assert await wait_for_task(call) == expected
    assert (settled_approval.state, settled_approval.decider_name) == ("decided", "Eve")


@pytest.mark.parametrize(
    ("prompt", "verdict", "expected"),
    [
        (RESULT, ALLOW, Delivered()),
        (RESULT, ApprovalVerdict(True, text="one\r\ntwo"), Delivered()),
        (RESULT, ApprovalVerdict(True, text="one\r\n2\r\n"), Delivered("one\n2\n")),
        (RESULT, ApprovalVerdict(True, text=""), Delivered()),
        (RESULT, REFUSE, Withheld()),
        (FAILED, ALLOW, Delivered()),
        (FAILED, ApprovalVerdict(True, text=""), Delivered()),
        (FAILED, ApprovalVerdict(True, text="It broke."), Delivered("It broke.")),
        (FAILED, REFUSE, Withheld()),
    ],
)
async def test_delivery_approval_decides_the_result_of_the_call(
    scene: Scene, prompt: DeliverPrompt, verdict: ApprovalVerdict, expected: Any
):
    call, row = await ask_approval(scene, prompt)
    await approvals.decide_approval(row.pk, verdict, decider(scene.eve))
    assert await wait_for_task(call) == expected


async def test_approval_decision_applies_when_the_formatter_text_differs(scene: Scene):
    call, row = await ask_approval(scene, replace(RUN, formatted_arguments="+++ 12:00"))
    await cut_off(call)
    await approvals.decide_approval(
        row.pk, ApprovalVerdict(False, reason="Later"), decider(scene.eve)
    )
    again = prompter(scene).permit(replace(RUN, formatted_arguments="+++ 12:01"))
    decision = await wait_for_task(asyncio.create_task(again))
    assert (decision.reason, decision.source) == (
        "Later",
        PermissionSource(row.pk, "Eve", scene.eve.pk),
    )


@pytest.mark.parametrize("remember", [True, False])
async def test_arguments_that_come_back_as_they_were_are_not_edited(scene: Scene, remember: bool):
    call, row = await ask_approval(scene, RUN)
    text = as_sent(approvals.get_editable_text(row))
    await approvals.decide_approval(
        row.pk, ApprovalVerdict(True, remember, text), decider(scene.ada)
    )
    decision = await wait_for_task(call)
    assert decision == Permitted(ARGUMENTS, remember)
    assert decision.arguments is ARGUMENTS


async def test_arguments_that_no_database_takes_reach_the_tool_as_they_are(scene: Scene):
    prompt = RunPrompt("call_1", "vault", "vault (local)", {"text": "a\0b"})
    call, row = await ask_approval(scene, prompt)
    text = as_sent(approvals.get_editable_text(row))
    await approvals.decide_approval(row.pk, ApprovalVerdict(True, text=text), decider(scene.ada))
    assert await wait_for_task(call) == Permitted({"text": "a\0b"})


async def test_formatted_arguments_lose_their_colors_and_no_other_code(scene: Scene):
    text = "\x1b[32m+ bed\x1b[0m \x1b]0;rm\x07"
    prompt = RunPrompt("call_1", "vault", "vault (local)", ARGUMENTS, formatted_arguments=text)
    call, row = await ask_approval(scene, prompt)
    assert row.subject["text"] == "+ bed \x1b]0;rm\x07"
    await approvals.decide_approval(row.pk, REFUSE, decider(scene.ada))
    await wait_for_task(call)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid JSON: expecting value, line 1, column 1"),
        ('{\r\n"a": }', "line 2, "),
        ("[1]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('{"a": NaN}', "NaN is not allowed"),
        ('{"a": "\\u0000"}', "can't be stored"),
        ('{"a": "\\ud800"}', "can't be stored"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "cannot be recorded: nested too deeply"),
        ('{"a": 1e999}', "cannot be recorded: inf is not a number"),
    ],
)
async def test_arguments_that_cannot_be_used_change_nothing(scene: Scene, text: str, message: str):
    call, row = await ask_approval(scene, RUN)
    with pytest.raises(InvalidAnswer, match=message.replace("(", "\\(")):
        await approvals.decide_approval(
            row.pk, ApprovalVerdict(True, text=text), decider(scene.ada)
        )
    assert (await run_in_db_thread(rows.get_approval, row.pk)).state == "open"
    await approvals.decide_approval(row.pk, REFUSE, decider(scene.ada))
    await wait_for_task(call)


async def test_a_backslash_is_no_nul(scene: Scene):
    call, row = await ask_approval(scene, RUN)
    verdict = ApprovalVerdict(True, text=r'{"pattern": "\\u0000"}')
    await approvals.decide_approval(row.pk, verdict, decider(scene.ada))
    assert await wait_for_task(call) == Permitted({"pattern": r"\u0000"})


async def test_edited_arguments_are_never_remembered(scene: Scene):
    call, row = await ask_approval(scene, RUN)
    with pytest.raises(InvalidAnswer, match="Edited arguments can only be allowed once"):
        await approvals.decide_approval(
            row.pk, ApprovalVerdict(True, remember=True, text="{}"), decider(scene.ada)
        )
    await approvals.decide_approval(row.pk, REFUSE, decider(scene.ada))
    await wait_for_task(call)


async def test_a_result_with_a_nul_is_refused_in_words(scene: Scene):
    call, row = await ask_approval(scene, RESULT)
    with pytest.raises(InvalidAnswer, match="NUL"):
        await approvals.decide_approval(
            row.pk, ApprovalVerdict(True, text="a\0"), decider(scene.ada)
        )
    await approvals.decide_approval(row.pk, REFUSE, decider(scene.ada))
    await wait_for_task(call)


async def test_concurrent_decisions_of_an_approval_settle_once(scene: Scene):
    call, row = await ask_approval(scene, RUN)
    tries = [approvals.decide_approval(row.pk, ALLOW, decider(scene.ada)) for _ in range(6)]
    tries += [approvals.decide_approval(row.pk, REFUSE, decider(scene.eve)) for _ in range(6)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    winners = [result for result in results if isinstance(result, Approval)]
    losers = [result for result in results if isinstance(result, AlreadyDecided)]
    assert (len(winners), len(losers)) == (1, 11)
    name = winners[0].decider_name
    assert {error.approval.decider_name for error in losers} == {name}
    assert await wait_for_task(call) == (Permitted(ARGUMENTS) if name == "Ada" else Skipped())


async def test_decide_approval_of_an_unknown_prompt_is_refused(scene: Scene):
    with pytest.raises(UnknownApproval):
        await approvals.decide_approval(10**9, ALLOW, decider(scene.ada))


async def test_an_imported_prompt_cannot_be_decided(scene: Scene):
    run = await begin_run(scene)
    row = await run_in_db_thread(making.prompt, run)
    await run_in_db_thread(Approval.objects.filter(pk=row.pk).update, run=None)
    with pytest.raises(AlreadyDecided):
        await approvals.decide_approval(row.pk, ALLOW, decider(scene.ada))
    assert (await run_in_db_thread(rows.get_approval, row.pk)).state == "open"


PUT: list[tuple[RunPrompt | DeliverPrompt, Any]] = [(RUN, Skipped()), (RESULT, Withheld())]


@pytest.mark.parametrize(("prompt", "expected"), PUT)
async def test_closed_prompt_allows_nothing(
    scene: Scene, prompt: RunPrompt | DeliverPrompt, expected: Any
):
    call, row = await ask_approval(scene, prompt)
    async with subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals:
        await prompter(scene).close_prompt(prompt)
        assert await workspace_signals() == {"kind": "questions"}
    assert await wait_for_task(call) == expected
    assert (await run_in_db_thread(rows.get_approval, row.pk)).state == "withdrawn"
    with pytest.raises(AlreadyDecided):
        await approvals.decide_approval(row.pk, ALLOW, decider(scene.ada))


@pytest.mark.parametrize(("prompt", "expected"), PUT)
async def test_approval_withdrawn_by_the_end_of_its_run_permits_nothing(
    scene: Scene, prompt: RunPrompt | DeliverPrompt, expected: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    call, row = await ask_approval(scene, prompt)
    run = await run_in_db_thread(Run.objects.get, pk=row.run_id)
    await run_in_db_thread(runs.close_open, run, CancellationReason.LOST)
    assert await wait_for_task(call) == expected


async def test_close_prompt_of_a_decided_approval_changes_nothing(scene: Scene):
    call, row = await ask_approval(scene, RUN)
    await approvals.decide_approval(row.pk, ALLOW, decider(scene.ada))
    await prompter(scene).close_prompt(RUN)
    assert await wait_for_task(call) == Permitted(ARGUMENTS)
    assert (await run_in_db_thread(rows.get_approval, row.pk)).state == "decided"


async def test_approval_decided_during_its_withdrawal_keeps_the_decision(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    call, row = await ask_approval(scene, RUN)
    real: Callable[[int], Approval] = rows.withdraw_approval

    def second(key: int) -> Approval:
        rows.decide_approval(key, {"allow": True}, decider(scene.ada))
        return real(key)

    monkeypatch.setattr(rows, "withdraw_approval", second)
    await prompter(scene).close_prompt(RUN)
    approvals.decision_waiters.notify(row.pk)
    assert await wait_for_task(call) == Permitted(ARGUMENTS)


@pytest.mark.parametrize(("prompt", "expected"), PUT)
async def test_approval_without_a_run_is_not_recorded_and_permits_nothing(
    scene: Scene, prompt: Any, expected: Any
):
    own_prompter = prompter(scene)
    ask: Any = own_prompter.permit if isinstance(prompt, RunPrompt) else own_prompter.deliver
    assert await wait_for_task(asyncio.create_task(ask(prompt))) == expected
    await own_prompter.close_prompt(prompt)
    assert await run_in_db_thread(Approval.objects.count) == 0


async def test_approval_request_and_decision_signal_people_who_may_answer(scene: Scene):
    await begin_run(scene)
    async with subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals:
        call, row = await start_call(prompter(scene).permit(RUN))
        assert await workspace_signals() == {"kind": "questions"}
        await approvals.decide_approval(row.pk, ALLOW, decider(scene.ada))
        assert await workspace_signals() == {"kind": "questions"}
        assert workspace_signals.take_all() == []
    await wait_for_task(call)


async def test_a_lost_wake_up_costs_a_delay_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    call, row = await ask_approval(scene, RUN)
    await run_in_db_thread(
        rows.decide_approval, row.pk, {"allow": True}, decider(scene.ada)
    )  # another process
    assert await wait_for_task(call) == Permitted(ARGUMENTS)


async def test_a_wake_up_needs_no_look(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 3600)
    call, row = await ask_approval(scene, RUN)
    await approvals.decide_approval(row.pk, ALLOW, decider(scene.ada))
    assert await wait_for_task(call) == Permitted(ARGUMENTS)


async def test_approval_leaves_no_event_in_the_journal(scene: Scene):
    await begin_run(scene)
    before = await scene.elements()
    call, row = await start_call(prompter(scene).permit(RUN))
    await approvals.decide_approval(row.pk, ApprovalVerdict(False, reason="No"), decider(scene.ada))
    await wait_for_task(call)
    assert await scene.elements() == before


@pytest.mark.parametrize(
    ("prompt", "verdict", "answer_text"),
    [
        (RUN, ApprovalVerdict(False, reason="Because"), "Because"),
        (RUN, ApprovalVerdict(True), ""),
        (RUN, ApprovalVerdict(True, text='{"path": "b"}'), '{"path": "b"}'),
        (RUN, ApprovalVerdict(True, text="{"), "{"),
        (RESULT, ApprovalVerdict(True, text="one\r\ntwo"), ""),
        (RESULT, ApprovalVerdict(True, text="three"), "three"),
    ],
)
async def test_recover_typed_text_returns_the_text_of_a_late_decision(
    scene: Scene, prompt: RunPrompt | DeliverPrompt, verdict: ApprovalVerdict, answer_text: str
):
    call, row = await ask_approval(scene, prompt)
    assert approvals.recover_typed_text(row, verdict) == answer_text
    settled_approval = await approvals.decide_approval(row.pk, REFUSE, decider(scene.ada))
    assert approvals.recover_typed_text(settled_approval, verdict) == (
        verdict.text or verdict.reason
    )
    await wait_for_task(call)


def test_an_error_is_not_offered_to_be_edited():
    error = Approval(kind=ApprovalKind.DELIVER, subject={"content": "It broke.", "is_error": True})
    fine = Approval(kind=ApprovalKind.DELIVER, subject={"content": "Fine.", "is_error": False})
    assert (approvals.get_editable_text(error), approvals.get_editable_text(fine)) == ("", "Fine.")
