"""What becomes of questions and prompts while nobody has a page open, by the workspace's policy."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import pytest

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store.choices import Act
from jpweb.store.ledger import verification
from jpweb.store.models import LedgerEntry, Run
from jpweb.stream.inquiry import CancellationReason
from tests.machine.vendors import Call, Reply, run_vendor
from tests.runtime.playing import wait_for_task
from tests.runtime.scenarios.talking import DONE, reply_with_answer
from tests.runtime.scenarios.workshop import Workshop
from tests.store.making import decider

DEPLOY = Call("deploy", {"service": "blog"}, "call_2")
#: ``wild`` needs a permission, and a look at its result; the others ask.
THREE = Reply(Call("greet", {}, "call_1"), DEPLOY, Call("wild", {}, "call_3"))
NOBODY: Final = CancellationReason.NO_PROMPT_BACKEND


class Policy(NamedTuple):
    """What a policy comes to: the inquiries in their order by call, results, secondary replies."""

    greet: list[str]
    deploy: list[str]
    results: list[tuple[str, bool]]
    replies: tuple[Any, ...]


POLICIES = {
    # whatever is for a person fails, what is for a model does not get that far
    "deny": Policy(
        ["ask call_1.name.1", f"{NOBODY} call_1.name.1 system"],
        ["ask call_2.confirm.1", f"{NOBODY} call_2.confirm.1 system"],
        [
            (model_messages.describe_refusal("greet", "name", NOBODY), True),
            (model_messages.describe_refusal("deploy", "confirm", NOBODY), True),
            (model_messages.describe_not_permitted("wild"), True),
        ],
        (),
    ),
    # a question's own default answers where it has one
    "defaults": Policy(
        [
            "ask call_1.name.1",
            "answered call_1.name.1 configuration",
            "ask call_1.loud.1",
            "answered call_1.loud.1 assistant",
        ],
        ["ask call_2.confirm.1", "answered call_2.confirm.1 configuration"],
        [
            ("Hello, world.\n", False),
            ("Not deployed.", False),
            (model_messages.describe_not_permitted("wild"), True),
        ],
        (False,),
    ),
}


def configured(shop: Workshop, policy: str | None) -> None:
    """Configure the policy for all tools; let ``wild`` be as tame as the others."""
    (shop.root / "tools" / "wild.sh").write_text("echo 'Wild as can be.'\n")
    if policy is not None:
        line = 'run = "unattended"'
        shop.configure(lambda text: text.replace(line, f'{line}\ndetached = "{policy}"'))


async def play_detached(shop: Workshop, policy: str, replies: tuple[Any, ...]) -> tuple[Run, Any]:
    configured(shop, policy)
    with run_vendor("openai", [THREE, *map(reply_with_answer, replies), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run = await shop.play_turn()
        return run, [request.body for request in standin.requests]


@pytest.mark.parametrize("policy", POLICIES)
async def test_turn_under_a_detached_policy_ends_without_people(
    unattended_shop: Workshop, policy: str
):
    expected = POLICIES[policy]
    run, bodies = await play_detached(unattended_shop, policy, expected.replies)
    assert (run.state, run.problem) == ("done", "")
    assert len(bodies) == 2 + len(expected.replies)
    lines = await unattended_shop.list_lines()
    call_lines = lines[5:-4]
    assert [line for line in call_lines if "call_1" in line] == expected.greet
    assert [line for line in call_lines if "call_2" in line] == expected.deploy
    assert [line for line in call_lines if "call_3" in line] == []
    assert [(r.content, r.is_error) for r in await unattended_shop.results()] == expected.results
    assert lines[-1] == "message: All done."


async def test_detached_policy_auto_lets_a_model_answer_all_but_secrets(unattended_shop: Workshop):
    configured(unattended_shop, "auto")
    calls = Reply(DEPLOY, Call("wild", {}, "call_3"))
    with run_vendor("anthropic", [calls, reply_with_answer(True), DONE]) as standin:
        await run_in_db_thread(unattended_shop.play, standin)
        run = await unattended_shop.play_turn()
        assert len(standin.requests) == 3
    assert run.state == "done"
    assert await unattended_shop.list_lines() == [
        "turn_start",
        "asked: Begin",
        "call call_2 deploy",
        "call call_3 wild",
        "ask call_2.confirm.1",
        "answered call_2.confirm.1 assistant",
        "ask call_2.passphrase.1",
        f"{NOBODY} call_2.passphrase.1 system",
        "failed call_2",
        "result call_3",
        "message: All done.",
    ]
    assert [r.content for r in await unattended_shop.results()] == [
        model_messages.describe_refusal("deploy", "passphrase", NOBODY),
        "Wild as can be.\n",
    ]


def list_unattended() -> list[dict[str, Any]]:
    """Return the details of the ledger's entries of calls that ran without asking."""
    entries = LedgerEntry.objects.filter(act=Act.CALL_RAN_UNATTENDED).order_by("id")
    return [json.loads(entry.text)["details"] for entry in entries]


async def test_call_without_asking_of_a_configured_tool_alone_is_recorded(
    unattended_shop: Workshop,
):
    configured(unattended_shop, "deny")
    question = Call("ask_user", {"question": "Go on?"}, "call_2")
    calls = Reply(Call("greet", {}, "call_1"), question, Call("wild", {}, "call_3"))
    with run_vendor("anthropic", [calls, DONE]) as standin:
        await run_in_db_thread(unattended_shop.play, standin)
        await unattended_shop.play_turn()
    [details] = await run_in_db_thread(list_unattended)
    assert (details["tool"], details["setting"]) == ("greet", "conversation.tools.*.run")
    assert details["file"].endswith("config.toml")
    assert await run_in_db_thread(lambda: list(verification.find_problems())) == []


async def test_questions_and_approvals_without_detached_policy_stay_open(unattended_shop: Workshop):
    configured(unattended_shop, None)
    with run_vendor("google", [THREE, DONE]) as standin:
        await run_in_db_thread(unattended_shop.play, standin)
        run, task = await unattended_shop.start()
        for question in ("name", "confirm"):
            await resolution.decline_inquiry(
                (await unattended_shop.get_question_by_id(question)).pk,
                decider(unattended_shop.eve),
            )
        for verdict in (ApprovalVerdict(allow=True), ApprovalVerdict(allow=False)):
            row = await unattended_shop.prompted()
            await approvals.decide_approval(row.pk, verdict, decider(unattended_shop.eve))
        await wait_for_task(task)
    assert (await unattended_shop.row(run)).state == "done"
    assert [r.content for r in await unattended_shop.results()] == [
        model_messages.INPUT_CANCELLED,
        model_messages.INPUT_CANCELLED,
        model_messages.WITHHELD,
    ]
    assert "Wild" not in await unattended_shop.dump_rows(), "what was withheld is kept nowhere"
