"""What becomes of questions and prompts while nobody has a page open, by the workspace's policy."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import Verdict
from jpweb.store.models import Run
from jpweb.stream.inquiry import CancellationReason
from tests.machine.vendors import Call, Reply, vendor
from tests.runtime.playing import done
from tests.runtime.scenarios.talking import DONE, gives
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


def configured(alone: Workshop, policy: str | None) -> None:
    """Configure the policy for all tools; let ``wild`` be as tame as the others."""
    (alone.root / "tools" / "wild.sh").write_text("echo 'Wild as can be.'\n")
    if policy is not None:
        line = 'run = "unattended"'
        alone.configure(lambda text: text.replace(line, f'{line}\ndetached = "{policy}"'))


async def played(alone: Workshop, policy: str, replies: tuple[Any, ...]) -> tuple[Run, Any]:
    configured(alone, policy)
    with vendor("openai", [THREE, *map(gives, replies), DONE]) as standin:
        await run_in_db_thread(alone.play, standin)
        run = await alone.played()
        return run, [request.body for request in standin.requests]


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_turn_ends_by_itself_while_nobody_is_there(alone: Workshop, policy: str):
    expected = POLICIES[policy]
    run, bodies = await played(alone, policy, expected.replies)
    assert (run.state, run.problem) == ("done", "")
    assert len(bodies) == 2 + len(expected.replies)
    told = await alone.told()
    asked = told[5:-4]
    assert [line for line in asked if "call_1" in line] == expected.greet
    assert [line for line in asked if "call_2" in line] == expected.deploy
    assert [line for line in asked if "call_3" in line] == []
    assert [(r.content, r.is_error) for r in await alone.results()] == expected.results
    assert told[-1] == "message: All done."


async def test_by_auto_a_model_answers_for_whoever_is_away_but_no_secret(alone: Workshop):
    configured(alone, "auto")
    calls = Reply(DEPLOY, Call("wild", {}, "call_3"))
    with vendor("anthropic", [calls, gives(True), DONE]) as standin:
        await run_in_db_thread(alone.play, standin)
        run = await alone.played()
        assert len(standin.requests) == 3
    assert run.state == "done"
    assert await alone.told() == [
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
    assert [r.content for r in await alone.results()] == [
        model_messages.describe_refusal("deploy", "passphrase", NOBODY),
        "Wild as can be.\n",
    ]


async def test_without_a_policy_questions_and_prompts_wait_for_somebody(alone: Workshop):
    configured(alone, None)
    with vendor("google", [THREE, DONE]) as standin:
        await run_in_db_thread(alone.play, standin)
        run, task = await alone.start()
        for question in ("name", "confirm"):
            await resolution.decline_inquiry((await alone.asked(question)).pk, decider(alone.eve))
        for verdict in (Verdict(allow=True), Verdict(allow=False)):
            row = await alone.prompted()
            await approvals.decide_approval(row.pk, verdict, decider(alone.eve))
        await done(task)
    assert (await alone.row(run)).state == "done"
    assert [r.content for r in await alone.results()] == [
        model_messages.INPUT_CANCELLED,
        model_messages.INPUT_CANCELLED,
        model_messages.WITHHELD,
    ]
    assert "Wild" not in await alone.everything(), "what was withheld is kept nowhere"
