"""Whatever comes after whatever: processes that die, people who answer, runs that are put down."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import sampled_from

from jpweb.store import journal, run_events, runs
from jpweb.store.choices import InterruptKind, RunState
from jpweb.store.errors import AlreadySettled, LeaseLost
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry, Run
from jpweb.store.run_queue import leases
from jpweb.stream.events import ChatResponse
from jpweb.stream.inquiry import Answered
from tests.machine.sizes import choose_size
from tests.store import making

pytestmark = pytest.mark.django_db
LEASE = 15
PROCESSES = ("one", "two", "three")


class Lives(RuleBasedStateMachine):
    """One run, three processes, and people; each process remembers what it once took."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = making.conversation(making.workspace())
        self.run = runs.start_run(self.talk.pk, making.person().pk, "scripted")
        self.memories: dict[str, Run] = {}
        self.written: list[str] = []
        self.answers: dict[int, Any] = {}
        self.number = 0

    def now(self) -> Run:
        return Run.objects.get(pk=self.run.pk)

    @rule(process=sampled_from(PROCESSES))
    def take(self, process: str) -> None:
        before = self.now()
        taken = leases.acquire_lease(self.run.pk, process, 60)
        assert (taken is not None) == (before.state == RunState.QUEUED)
        if taken is not None:
            self.memories[process] = taken

    @rule(process=sampled_from(PROCESSES))
    def write(self, process: str) -> None:
        mine = self.memories.get(process)
        if mine is None:
            return
        now, self.number = self.now(), self.number + 1
        holds = now.state == RunState.RUNNING and now.fence == mine.fence
        text = f"word {self.number}"
        try:
            run_events.record_events(mine, [making.event(ChatResponse("message", text))])
        except LeaseLost:
            assert not holds
        else:
            assert holds, "only the holder writes"
            self.written.append(text)

    @rule(process=sampled_from(PROCESSES))
    def ask(self, process: str) -> None:
        mine, now = self.memories.get(process), self.now()
        if mine is not None and now.state == RunState.RUNNING and now.fence == mine.fence:
            making.question(mine)

    @rule(process=sampled_from(PROCESSES))
    def put_down(self, process: str) -> None:
        mine = self.memories.get(process)
        waits = list(
            Inquiry.objects.filter(run=self.run, state="open").values_list("pk", flat=True)
        )
        if mine is not None and waits and runs.park_run(mine, waits, []):
            assert self.now().state == RunState.PARKED

    @rule(process=sampled_from(PROCESSES))
    def let_go(self, process: str) -> None:
        mine = self.memories.get(process)
        if mine is not None:
            leases.release_lease(mine)

    @rule()
    def die(self) -> None:
        Run.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(lease_until=None)

    @rule()
    def recover(self) -> None:
        runs.recover_expired(LEASE)

    @rule(said=sampled_from(["yes", "no"]))
    def answer(self, said: str) -> None:
        row = Inquiry.objects.filter(run=self.run).order_by("?").first()
        if row is None:
            return
        try:
            making.settle(row, Answered(said), Decider("person", said))
        except AlreadySettled:
            assert row.pk in self.answers or self.now().ended_at is not None
        else:
            assert row.pk not in self.answers
            self.answers[row.pk] = said

    @rule(process=sampled_from(PROCESSES))
    def finish(self, process: str) -> None:
        mine = self.memories.get(process)
        if mine is None or Inquiry.objects.filter(run=mine, state="open").exists():
            return
        try:
            runs.end_run(mine, RunState.DONE)
        except LeaseLost:
            return

    @rule()
    def stop(self) -> None:
        runs.interrupt_run(self.talk.pk, InterruptKind.STOP, Decider("person", "Ada"))

    @invariant()
    def nothing_is_lost_or_twice(self) -> None:
        read = journal.read_elements(self.talk.pk)
        said = [e.kind.content for e in read if isinstance(e.kind, ChatResponse)]
        assert said == self.written
        places = self.talk.journal.order_by("position").values_list("position", flat=True)
        assert list(places) == list(range(len(read)))
        now = self.now()
        for row in Inquiry.objects.filter(run=self.run):
            if row.pk in self.answers:
                assert row.answer == self.answers[row.pk]
            else:
                assert row.state == ("open" if now.ended_at is None else "cancelled")
        if now.state == RunState.PARKED:
            assert Inquiry.objects.filter(run=self.run, state="open").exists(), "nothing wakes it"


def test_no_order_of_events_loses_or_repeats_anything():
    run_state_machine_as_test(
        Lives,
        settings=settings(max_examples=choose_size(10, 40), stateful_step_count=25, deadline=None),
    )
