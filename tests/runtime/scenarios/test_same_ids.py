"""Two calls of one reply with the same id, as some vendors give them: each has its own card."""

from __future__ import annotations

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store.choices import Act
from jpweb.store.models import LedgerEntry
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse
from tests.machine.vendors import Call, Reply, run_vendor
from tests.runtime.playing import wait_for_task
from tests.runtime.scenarios.talking import DONE
from tests.runtime.scenarios.workshop import Workshop
from tests.store.making import decider

NAMES = ["a.txt", "b.txt", "b.txt"]
READ = Reply(*(Call("read", {"path": name}, "call_1") for name in NAMES))
TOOL = """
[conversation.tools.read]
source = "local"
command = "echo {{tool.arguments.path}}"
result = "ask"

[conversation.tools.read.parameters.path]
type = "string"
required = true
"""


async def test_result_approvals_of_calls_with_one_id_are_separate(shop: Workshop):
    await run_in_db_thread(shop.configure, lambda text: text + TOOL)
    contents = []
    with run_vendor("anthropic", [READ, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, task = await shop.start()
        for _ in NAMES:
            row = await shop.prompted()
            contents.append(row.subject["content"])
            await approvals.decide_approval(row.pk, ApprovalVerdict(True), decider(shop.eve))
        await wait_for_task(task)
    assert (await shop.row(run)).state == "done"
    results = [f"{name}\n" for name in NAMES]
    assert sorted(contents) == results
    assert [result.content for result in await shop.results()] == results
    withdrawals = LedgerEntry.objects.filter(act=Act.APPROVAL_WITHDRAWN)
    assert not await run_in_db_thread(withdrawals.exists)


async def test_responses_have_the_ids_of_requests_also_beside_a_nul(shop: Workshop):
    ask = Reply(Call("ask_user", {"question": "Go on?", "answer_type": "boolean"}, "call\0"))
    with run_vendor("anthropic", [ask, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        _, task = await shop.start()
        await shop.answer("answer", "true")
        await wait_for_task(task)
    kinds = [event.kind for event in await shop.events()]
    request_ids = [kind.id for kind in kinds if isinstance(kind, InquiryRequest)]
    response_ids = [kind.id for kind in kinds if isinstance(kind, InquiryResponse)]
    assert response_ids == request_ids == ["call\ufffd.answer.1"]
