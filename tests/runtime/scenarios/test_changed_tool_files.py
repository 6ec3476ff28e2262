"""A tool whose file changes while a permitted call of it waits at a question (issue 14, 1.1)."""

from __future__ import annotations

import pytest
from django.conf import settings

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store.models import Inquiry, Run
from tests.machine.vendors import Call, Reply, run_vendor
from tests.runtime.playing import eventually
from tests.runtime.scenarios.talking import DONE
from tests.runtime.scenarios.workshop import CLOSED, Workshop
from tests.store.making import decider

ASKS = '{"id": "ok", "text": "Ok?", "answer_type": {"type": "boolean"}}'
SCRIPT = f"""
if grep -q '"ok": true' "$JPWEB_CONTEXT"
then echo "$1" >> ran
else echo '{{"type": "needs_input", "question": {ASKS}}}'
fi
"""
TOOL = """
[conversation.tools.aim]
source = "local"
command = "sh tools/aim.sh {{tool.arguments.target}}"
run = "ask"
parameters.target = {type = "string", default = "safe"}
"""


async def park_at_question(shop: Workshop) -> Inquiry:
    """Let a person permit the call with the default "safe"; return the question it waits at."""
    await shop.start()
    permission = await shop.prompted()
    assert permission.subject["arguments"] == {"target": "safe"}
    await approvals.decide_approval(
        permission.pk, ApprovalVerdict(allow=True, remember=True), decider(shop.eve)
    )

    async def parked() -> Inquiry | None:
        parked_runs = Run.objects.filter(conversation=shop.conversation, state="parked")
        if run_executor._active_runs or not await run_in_db_thread(parked_runs.exists):
            return None
        return await run_in_db_thread(
            Inquiry.objects.filter(conversation=shop.conversation, state="open").first
        )

    row: Inquiry = await eventually(parked)
    return row


async def find_ended_run(shop: Workshop) -> Run | None:
    ended_runs = Run.objects.filter(conversation=shop.conversation, ended_at__isnull=False)
    return await run_in_db_thread(ended_runs.first) if not run_executor._active_runs else None


@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted"])
async def test_permitted_call_never_runs_a_default_changed_meanwhile(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, trusted: bool
):
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)
    (shop.root / "tools" / "aim.sh").write_text(SCRIPT)
    shop.configure(lambda text: text + TOOL)
    marker_file = shop.root / "ran"
    with run_vendor("openai", [Reply(Call("aim", {}, "call_1")), DONE]) as standin:
        await run_in_db_thread(shop.play, standin, CLOSED)
        question = await park_at_question(shop)
        shop.configure(lambda text: text.replace('default = "safe"', 'default = "injected"'))
        if trusted:
            await run_in_db_thread(shop.trust)
        await resolution.answer_inquiry(question.pk, "true", decider(shop.ada))
        if trusted:
            second_prompt = await shop.prompted()
            assert second_prompt.subject["arguments"] == {"target": "injected"}
            assert not marker_file.exists()
            await approvals.decide_approval(
                second_prompt.pk, ApprovalVerdict(allow=False), decider(shop.eve)
            )
        await eventually(lambda: find_ended_run(shop))
    (result,) = await shop.results()
    assert not marker_file.exists()
    assert "skipped" in result.content if trusted else "not available" in result.content


async def test_permitted_call_runs_once_the_file_says_what_it_said(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)
    (shop.root / "tools" / "aim.sh").write_text(SCRIPT)
    shop.configure(lambda text: text + TOOL)
    with run_vendor("openai", [Reply(Call("aim", {}, "call_1")), DONE]) as standin:
        await run_in_db_thread(shop.play, standin, CLOSED)
        question = await park_at_question(shop)
        await resolution.answer_inquiry(question.pk, "true", decider(shop.ada))
        await eventually(lambda: find_ended_run(shop))
    assert (shop.root / "ran").read_text() == "safe\n"
