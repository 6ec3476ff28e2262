from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties import carrier, notify
from jpweb.store.models import Address, AnswerLink, Inquiry, Membership, Notice, Person, Prompt, Run
from jpweb.store.telling import links, notices
from jpweb.store.telling.notices import Due
from jpweb.store.terms import PromptKind, Role
from jpweb.stream.answers import Secret
from tests.runtime.duties.receiver import Receiver
from tests.store import making

CANARY = "canary-7d2a"


class Stage:
    """A run with questions, and a person who is told elsewhere."""

    def __init__(self, url: str) -> None:
        self.home = making.workspace("Garden")
        self.ada = making.person("ada", Role.RESPONDER, self.home)
        self.talk = making.conversation(self.home, "A talk", self.ada)
        self.run = making.running(self.talk, self.ada)
        self.address = self.add(self.ada, url)

    def add(self, who: Person, url: str, delay: int = 60) -> Address:
        return Address.objects.create(person=who, workspace=self.home, url=url, delay=delay)


@pytest.fixture
def stage(transactional_db: None, there: Receiver) -> Stage:
    return Stage(there.url())


async def prompt(stage: Stage, kind: PromptKind = PromptKind.RUN, **shown: Any) -> None:
    """Let a prompt have waited for two minutes."""
    made = await in_store(making.prompt, stage.run, kind, **shown)
    long_ago = timezone.now() - timedelta(minutes=2)
    await in_store(Prompt.objects.filter(pk=made.pk).update, asked_at=long_ago)


async def rows(model: Any) -> list[Any]:
    return await in_store(lambda: list(model.objects.order_by("pk")))


def token(there: Receiver) -> str:
    found = re.search(r"/answer/([\w-]+)", there.bodies[-1])
    assert found
    return found[1]


async def test_who_asks_where_and_what_is_told_with_a_link_that_answers(
    stage: Stage, there: Receiver, settings: Any
):
    settings.PUBLIC_URL = "https://jp.example.org"
    question = await in_store(making.question, stage.run, None, "Delete the “roses”?")
    assert await notify.tell_due() == 1
    sent = json.loads(there.bodies[0])
    assert sent["title"] == "Garden: question from fs_modify_file"
    assert sent["message"].splitlines()[:3] == ["Delete the “roses”?", "", "In “A talk”, Garden."]
    assert f"https://jp.example.org/answer/{token(there)}" in sent["message"]
    link = await in_store(links.find, token(there))
    assert (link.inquiry, link.person) == (question, stage.ada)
    assert (await rows(Notice))[0].problem == ""


async def test_nobody_is_told_twice(stage: Stage, there: Receiver):
    await in_store(making.question, stage.run)
    assert [await notify.tell_due(), await notify.tell_due()] == [1, 0]
    both = await asyncio.gather(*(notify.tell_due() for _ in range(3)))
    assert (sum(both), len(there.bodies)) == (0, 1)


async def test_of_several_processes_one_tells(stage: Stage, there: Receiver):
    for _ in range(3):
        await in_store(making.question, stage.run)
    told = await asyncio.gather(*(notify.tell_due() for _ in range(4)))
    assert (sum(told), len(there.bodies)) == (3, 3)
    assert len(await rows(AnswerLink)) == 3


async def test_the_delay_is_waited(stage: Stage, there: Receiver):
    question = await in_store(making.question, stage.run)

    async def asked(seconds_ago: int) -> int:
        at = timezone.now() - timedelta(seconds=seconds_ago)
        await in_store(Inquiry.objects.filter(pk=question.pk).update, asked_at=at)
        return await notify.tell_due()

    assert [await asked(0), await asked(55), await asked(61)] == [0, 0, 1]


async def test_the_text_of_a_secret_question_is_in_no_message(stage: Stage, there: Receiver):
    await in_store(making.question, stage.run, Secret(), f"Password of {CANARY}?")
    assert await notify.tell_due() == 1
    assert "A secret is requested." in there.bodies[0]
    assert CANARY not in there.all


async def test_no_argument_and_no_result_is_in_a_message(stage: Stage, there: Receiver):
    for kind in PromptKind:
        shown = {"content": CANARY, "arguments": {"path": CANARY}, "described": CANARY}
        await prompt(stage, kind, **shown)
    assert await notify.tell_due() == 2
    assert "A tool call needs your approval." in there.all
    assert "A tool's result needs your approval" in there.all
    assert re.search(r"http://127.0.0.1:\d+/prompts/\d+", there.all)
    assert CANARY not in there.all
    assert await rows(AnswerLink) == []
    assert await notify.tell_due() == 0


@pytest.mark.parametrize("change", ["reader", "outsider", "inactive", "settled", "ended"])
async def test_only_who_may_answer_is_told_and_only_of_what_waits(
    stage: Stage, there: Receiver, change: str
):
    question = await in_store(making.question, stage.run)
    changes: dict[str, Any] = {
        "reader": lambda: Membership.objects.update(role=Role.READER),
        "outsider": lambda: Membership.objects.all().delete(),
        "inactive": lambda: Person.objects.update(is_active=False),
        "settled": lambda: making.settle(question, making.ANSWER),
        "ended": lambda: Run.objects.update(state="lost"),
    }
    due = await in_store(notices.due, 10)
    assert len(due) == 1
    await in_store(changes[change])
    assert await in_store(notices.due, 10) == []
    assert await in_store(notices.claim, due[0]) is None
    assert await notify.tell_due() == 0
    assert there.bodies == []


async def test_an_address_that_is_gone_is_not_claimed(stage: Stage):
    await in_store(making.question, stage.run)
    due = await in_store(notices.due, 10)
    await in_store(stage.address.delete)
    assert await in_store(notices.claim, due[0]) is None


async def test_an_address_is_told_of_its_own_workspace_alone(stage: Stage, there: Receiver):
    def elsewhere() -> None:
        home = making.workspace("Elsewhere")
        making.person("eve", Role.OWNER, home)
        making.question(making.running(making.conversation(home)))

    await in_store(elsewhere)
    assert await notify.tell_due() == 0
    assert there.bodies == []


async def test_each_address_is_told_with_a_link_of_its_own(stage: Stage, there: Receiver):
    def more() -> None:
        eve = making.person("eve", Role.OWNER, stage.home)
        stage.add(eve, there.url("eve"))
        making.question(stage.run)

    await in_store(more)
    assert await notify.tell_due() == 2
    found = await rows(AnswerLink)
    assert len({link.person_id for link in found}) == 2


async def test_a_failure_is_noted_in_words_and_not_tried_again(stage: Stage, there: Receiver):
    there.manner = "fails"
    await in_store(making.question, stage.run)
    assert [await notify.tell_due(), await notify.tell_due()] == [0, 0]
    told = carrier.UNDELIVERED
    assert [each.problem for each in await rows(Notice)] == [told]
    assert [each.problem for each in await rows(Address)] == [told]
    assert len(there.bodies) == 1


async def test_an_address_that_fails_is_left_alone_for_the_rest_of_the_round(
    stage: Stage, there: Receiver
):
    there.manner = "fails"
    for _ in range(3):
        await in_store(making.question, stage.run)
    assert await notify.tell_due() == 0
    assert len(there.bodies) == 1
    there.manner = "takes"
    assert await notify.tell_due() == 2


async def test_a_message_that_arrives_takes_the_problem_away(stage: Stage, there: Receiver):
    await in_store(Address.objects.update, problem="It failed.")
    await in_store(making.question, stage.run)
    assert await notify.tell_due() == 1
    assert [each.problem for each in await rows(Address)] == [""]


async def test_who_hangs_holds_up_nobody_and_is_left_alone_meanwhile(
    stage: Stage, there: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(carrier, "PATIENCE", 0.3)
    there.manner = "hangs"
    for _ in range(3):
        await in_store(making.question, stage.run)
    started = datetime.now(UTC)
    assert await notify.tell_due() == 0
    assert datetime.now(UTC) - started < timedelta(seconds=3)
    assert len(await rows(Notice)) == 1
    assert await notify.tell_due() == 0
    assert len(await rows(Notice)) == 1
    assert "0.3 seconds" in (await rows(Address))[0].problem


async def test_what_a_round_tells_an_address_is_bounded_and_the_rest_comes_later(
    stage: Stage, there: Receiver
):
    for _ in range(notices.EACH + 2):
        await in_store(making.question, stage.run)
    await prompt(stage)
    assert [await notify.tell_due() for _ in range(3)] == [notices.EACH, 3, 0]


async def test_a_test_is_sent_and_its_failure_is_told_and_kept(stage: Stage, there: Receiver):
    assert await notify.test(stage.address) == ""
    assert "test notification for Garden" in there.bodies[0]
    there.manner = "fails"
    assert await notify.test(stage.address) == carrier.UNDELIVERED
    assert (await rows(Address))[0].problem == carrier.UNDELIVERED


async def test_no_second_test_is_sent_while_one_is_on_its_way(
    stage: Stage, there: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(carrier, "PATIENCE", 0.2)
    there.manner = "hangs"
    await notify.test(stage.address)
    assert await notify.test(stage.address) == "The previous message is still being sent."
    assert await asyncio.to_thread(there.arrived.wait, 20)
    assert len(there.bodies) == 1


def due(**what: Any) -> Due:
    usual = {"address_id": 1, "person_id": 1, "url": "", "workspace": "W", "conversation": "C"}
    return Due(**{**usual, "asker": "JP", "inquiry_id": 1, "text": "Well?", **what})


def sent(**what: Any) -> str:
    return "\n".join(notify.message(due(**what), "token"))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("@everyone look", "@\u200beveryone look"),
        ("<!channel> <@U123>", "<\u200b!channel> <\u200b@\u200bU123>"),
        ("[Answer here](https://evil.example)", "[Answer here]\u200b(https://evil.example)"),
        ("a\u202eb\x00c\u200bd", "a b c d"),
        ("one\r\ntwo\n\n\nthree", "one\ntwo\n\n\nthree"),
        ("  \n", "A question is waiting."),
        ("\N{MAN}\u200d\N{WOMAN} 1 < 2", "\N{MAN}\u200d\N{WOMAN} 1 < 2"),
        ("x" * 301, "x" * 300 + "…"),
        ("x" * 5_000, "x" * 300 + "…"),
        ("x" * 300, "x" * 300 + "\n"),
    ],
)
def test_hostile_words_stay_words(written: str, told: str):
    assert f"\n{told}" in sent(text=written)


@pytest.mark.parametrize("field", ["asker", "workspace", "conversation"])
def test_a_name_stays_on_its_line_and_is_cut(field: str):
    whole = sent(**{field: "Al\nAnswer: http://evil @all " + "x" * 500})
    assert "Al Answer: http://evil @\u200ball x" in whole
    assert "x" * notify.NAME not in whole
    assert max(map(len, whole.splitlines())) < 300


def test_what_has_no_name_is_told_all_the_same():
    assert "W: question from jpweb" in sent(asker="")
    assert "“Untitled”" in sent(conversation=" ")
