"""Random orders of events of runs: dying processes, answers, parking and resuming."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import integers, sampled_from

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
LEASE_SECONDS = 15
PROCESSES = ("one", "two", "three")


class Lives(RuleBasedStateMachine):
    """One run, three processes, and people; each process remembers what it once took."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation = making.conversation(making.workspace())
        self.run = runs.start_run(self.conversation.pk, making.person().pk, "scripted")
        self.memories: dict[str, Run] = {}
        self.written: list[str] = []
        self.answers: dict[int, Any] = {}
        self.number = 0

    def now(self) -> Run:
        return Run.objects.get(pk=self.run.pk)

    @rule(process=sampled_from(PROCESSES))
    def take(self, process: str) -> None:
        before = self.now()
        leased_run = leases.acquire_lease(self.run.pk, process, 60)
        assert (leased_run is not None) == (before.state == RunState.QUEUED)
        if leased_run is not None:
            self.memories[process] = leased_run

    @rule(process=sampled_from(PROCESSES))
    def write(self, process: str) -> None:
        own_run = self.memories.get(process)
        if own_run is None:
            return
        run_row, self.number = self.now(), self.number + 1
        is_holder = run_row.state == RunState.RUNNING and run_row.fence == own_run.fence
        text = f"word {self.number}"
        try:
            run_events.record_events(own_run, [making.event(ChatResponse("message", text))])
        except LeaseLost:
            assert not is_holder
        else:
            assert is_holder, "only the holder writes"
            self.written.append(text)

    @rule(process=sampled_from(PROCESSES))
    def ask(self, process: str) -> None:
        own_run, run_row = self.memories.get(process), self.now()
        if (
            own_run is not None
            and run_row.state == RunState.RUNNING
            and run_row.fence == own_run.fence
        ):
            making.question(own_run)

    @rule(process=sampled_from(PROCESSES))
    def put_down(self, process: str) -> None:
        own_run = self.memories.get(process)
        waiting_ids = list(
            Inquiry.objects.filter(run=self.run, state="open").values_list("pk", flat=True)
        )
        if own_run is not None and waiting_ids and runs.park_run(own_run, waiting_ids, []):
            assert self.now().state == RunState.PARKED

    @rule(process=sampled_from(PROCESSES))
    def let_go(self, process: str) -> None:
        own_run = self.memories.get(process)
        if own_run is not None:
            leases.release_lease(own_run)

    @rule()
    def die(self) -> None:
        Run.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(lease_until=None)

    @rule()
    def recover(self) -> None:
        runs.recover_expired(LEASE_SECONDS)

    @rule(text=sampled_from(["yes", "no"]), number=integers(0, 20))
    def answer(self, text: str, number: int) -> None:
        rows = list(Inquiry.objects.filter(run=self.run).order_by("pk"))
        if not rows:
            return
        row = rows[number % len(rows)]
        try:
            making.settle(row, Answered(text), Decider("person", text))
        except AlreadySettled:
            assert row.pk in self.answers or self.now().ended_at is not None
        else:
            assert row.pk not in self.answers
            self.answers[row.pk] = text

    @rule(process=sampled_from(PROCESSES))
    def finish(self, process: str) -> None:
        own_run = self.memories.get(process)
        if own_run is None or Inquiry.objects.filter(run=own_run, state="open").exists():
            return
        try:
            runs.end_run(own_run, RunState.DONE)
        except LeaseLost:
            return

    @rule()
    def stop(self) -> None:
        runs.interrupt_run(self.conversation.pk, InterruptKind.STOP, Decider("person", "Ada"))

    @invariant()
    def nothing_is_lost_or_twice(self) -> None:
        elements = journal.read_elements(self.conversation.pk)
        texts = [e.kind.content for e in elements if isinstance(e.kind, ChatResponse)]
        assert texts == self.written
        places = self.conversation.journal.order_by("position").values_list("position", flat=True)
        assert list(places) == list(range(len(elements)))
        run_row = self.now()
        for row in Inquiry.objects.filter(run=self.run):
            if row.pk in self.answers:
                assert row.answer == self.answers[row.pk]
            else:
                assert row.state == ("open" if run_row.ended_at is None else "cancelled")
        if run_row.state == RunState.PARKED:
            assert Inquiry.objects.filter(run=self.run, state="open").exists(), "nothing wakes it"


def test_run_queue_in_any_order_of_events_loses_and_repeats_nothing():
    run_state_machine_as_test(
        Lives,
        settings=settings(max_examples=choose_size(10, 40), stateful_step_count=25, deadline=None),
    )
