from __future__ import annotations

import pytest

from jpweb.store import runs
from jpweb.store.errors import LeaseLost
from jpweb.store.models import Conversation, Run
from jpweb.store.run_events import record_events
from jpweb.store.run_queue import leases, token_usage
from jpweb.store.run_queue.token_usage import TokenSums, UsageReport
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    conversation: Conversation = making.conversation(making.workspace())
    return conversation


def start_turn(conversation: Conversation) -> Run:
    kinds = (TurnStart(), ChatRequest("Plant a tree", author="Ada"))
    events = [making.event(kind) for kind in kinds]
    run = runs.start_run(conversation.pk, making.person().pk, "openai", "gpt-5.4", events)
    return making.acquire_run(run)


def test_a_run_names_the_turn_that_it_executes(conversation: Conversation):
    first_run = start_turn(conversation)
    runs.lose_run(first_run, "It is over.")
    retry = making.acquire_run(runs.start_run(conversation.pk, making.person().pk, "openai"))
    runs.lose_run(retry, "It is over.")
    start_turn(conversation)
    numbers = Run.objects.order_by("id").values_list("turn_number", flat=True)
    assert list(numbers) == [0, 0, 1]


def test_reports_add_up_by_turn_and_unreported_ones_are_counted(conversation: Conversation):
    run = start_turn(conversation)
    reply = [making.event(ChatResponse("message", "Done."))]
    record_events(run, reply, usage=UsageReport(100, 20, 80, 5))
    record_events(run, [], usage=UsageReport(None, None))
    record_events(run, [], usage=UsageReport(11, 2))
    sums = token_usage.sum_tokens_by_turn(conversation.pk, 0, 0)
    assert sums == {0: TokenSums(3, 2, 111, 22, 80, 5)}
    assert sums[0].missing_count == 1
    assert token_usage.sum_tokens_by_turn(conversation.pk, 1, 9) == {}


def test_a_run_without_reports_has_no_sums(conversation: Conversation):
    record_events(start_turn(conversation), [making.event(ChatResponse("message", "Done."))])
    assert token_usage.sum_tokens_by_turn(conversation.pk, 0, 9) == {}


def test_a_report_of_a_former_holder_counts_nothing(conversation: Conversation):
    run = start_turn(conversation)
    assert leases.release_lease(run)
    making.acquire_run(run, "another")
    with pytest.raises(LeaseLost):
        record_events(run, [], usage=UsageReport(1, 1))
    assert token_usage.sum_tokens_by_turn(conversation.pk, 0, 9) == {}
