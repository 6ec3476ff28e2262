"""That the index follows the journal, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal, rebuild
from jpweb.store.inquiries import Decider
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, JournalEntry, Passage, Workspace
from jpweb.store.search import filter_terms, indexer, passages
from jpweb.stream.answer_type import Boolean
from jpweb.stream.events import (
    ChatResponse,
    EventKind,
    TurnStart,
)
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryQuestion,
    InquiryRequest,
    InquirySource,
)
from tests import builders
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.search.conftest import (
    Find,
    check_index,
    list_passages,
    list_places,
    make_messages,
    replace_elements,
)

pytestmark = pytest.mark.django_db


def test_indexer_adds_new_events_and_keeps_other_passages(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("one", "two"))
    assert len(find("one")) == 1
    before = list_passages()
    journal.append_events(conversation.pk, make_messages("three"))
    (hit,) = find("three")
    assert hit.position == 2
    assert set(before) < set(list_passages())
    conversation.refresh_from_db()
    assert (conversation.needs_indexing, conversation.indexed_entry_count) == (False, 3)


def test_indexer_indexes_replaced_events_again(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    replace_elements(
        conversation,
        builders.stream(*(ChatResponse("message", word) for word in ("ash", "birch", "cedar"))),
    )
    (first_hit,) = find("ash")
    replace_elements(
        conversation,
        builders.stream(*(ChatResponse("message", word) for word in ("ash", "dogwood"))),
    )
    assert [hit.key for hit in find("ash")] == [first_hit.key]
    assert (len(find("birch")), len(find("cedar")), len(find("dogwood"))) == (0, 0, 1)
    check_index()


@pytest.mark.parametrize("new_word", ["ash", "birch"])
def test_indexer_updates_the_time_of_a_replaced_event(
    workspace: Workspace, find: Find, new_word: str
):
    conversation = making.conversation(workspace)
    replace_elements(conversation, builders.stream(ChatResponse("message", "ash")))
    assert find("after:2026-05 ash") == []
    new_kind = ChatResponse("message", new_word)
    replace_elements(conversation, [builders.make_element(new_kind, at="2026-06-02 00:00:00.0")])
    (hit,) = find(f"after:2026-05 {new_word}")
    assert hit.at == Passage.objects.get(position=0).at == datetime(2026, 6, 2, tzinfo=UTC)
    assert find(f"before:2026-05 {new_word}") == []
    check_index()


def test_deleted_conversation_deletes_its_passages(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("one"))
    assert find("one")
    conversation.delete()
    assert not find("one")
    assert list_passages() == []
    check_index()


def test_a_new_title_and_new_labels_are_indexed(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace, "Old name")
    journal.append_events(conversation.pk, make_messages("word"))
    (hit,) = find("old")
    queryset = Conversation.objects.filter(pk=conversation.pk)
    queryset.update(title="New name", labels={"topic": "beds"}, needs_indexing=True)
    assert find("old") == []
    assert [match.key for match in find("new topic beds")] == [hit.key]
    assert [match.category for match in find("word label:topic=beds")] == ["message"]
    queryset.update(title="", labels={}, needs_indexing=True)
    assert find("name") == find("label:topic") == []
    assert len(find("word")) == 1
    check_index()


def test_indexer_limits_the_labels_of_a_passage(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace, "Many")
    journal.append_events(conversation.pk, make_messages("word"))
    labels = {f"label{n:03}": "" for n in range(300)}
    Conversation.objects.filter(pk=conversation.pk).update(labels=labels, needs_indexing=True)
    assert [match.category for match in find("word label:label007")] == ["message"]
    assert (
        max(len(row.tags.split()) for row in Passage.objects.all()) < filter_terms.MAX_LABELS + 10
    )
    check_index()


def test_a_question_carries_its_outcome_also_when_that_comes_later(
    workspace: Workspace, find: Find
):
    run = making.start_run(making.conversation(workspace))
    row = making.question(run, text="Dig?")
    assert [hit.state for hit in find("kind:question outcome:open")] == ["open"]
    making.settle(row, Cancelled(CancellationReason.USER), Decider("person", "Ada Lovelace"))
    assert find("outcome:open") == []
    (hit,) = find(f"outcome:cancelled reason:user tool:{row.asker} who:ada dig")
    assert (hit.category, hit.state, hit.reason, hit.who) == (
        "question",
        "cancelled",
        "user",
        "Ada Lovelace",
    )
    check_index()


def test_indexer_updates_a_question_that_became_unanswered(workspace: Workspace, find: Find):
    """Its row changes without any response."""
    run = making.start_run(making.conversation(workspace))
    row = making.question(run)
    assert len(find("outcome:open")) == 1
    row.state = "unanswered"
    row.save()
    journal.append_events(run.conversation_id, make_messages("onwards"))
    assert find("outcome:open") == []
    assert len(find("outcome:unanswered")) == 1


@pytest.mark.parametrize("entries", [1, 3])
def test_indexer_in_batches_indexes_a_conversation_completely(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, entries: int
):
    monkeypatch.setattr(indexer, "BATCH_ENTRIES", entries)
    monkeypatch.setattr(indexer, "BATCHES_PER_STEP", 2)
    conversation = making.conversation(workspace)
    run = making.start_run(conversation)
    rows = [making.question(run, text=f"q{n}?") for n in range(3)]
    journal.append_events(conversation.pk, make_messages(*(f"w{n}" for n in range(7))))
    index_all()
    for row in rows:
        making.settle(row, Answered(True))
    assert index_all() >= 1
    assert len(list_places()) == 1 + 2 + 3 + 7 + 3
    assert set(Passage.objects.filter(category="question").values_list("state", flat=True)) == {
        "answered"
    }


def test_indexer_killed_at_any_write_resumes_without_duplicates(
    workspace: Workspace, find: Find, monkeypatch: pytest.MonkeyPatch
):
    """At every write there is: nothing is lost, and nothing is there twice."""
    monkeypatch.setattr(indexer, "BATCH_ENTRIES", 2)
    conversation = making.conversation(workspace)
    run = making.start_run(conversation)
    making.settle(making.question(run), Answered(True))
    journal.append_events(conversation.pk, make_messages("one", "two", "three"))
    index_all()
    all_rows = [row[1:] for row in list_passages()]
    for dies_at in range(12):
        indexer.clear_index(conversation.pk)
        write_changes, writes = indexer._write_changes, iter(range(100))

        def dying(
            *arguments: Any,
            write_changes: Any = write_changes,
            writes: Any = writes,
            dies_at: int = dies_at,
        ) -> None:
            if next(writes) == dies_at:
                raise KeyboardInterrupt
            write_changes(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(indexer, "_write_changes", dying)
            with suppress(KeyboardInterrupt):
                indexer.index_next()
        index_all()
        assert sorted(row[1:] for row in list_passages()) == sorted(all_rows)
    check_index()


def append_two(conversation: Conversation) -> None:
    journal.append_events(conversation.pk, make_messages("two"))


def rename(conversation: Conversation) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(title="two")


def relabel(conversation: Conversation) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(labels={"two": ""})


@pytest.mark.parametrize("change", [append_two, rename, relabel])
def test_a_change_on_the_way_is_seen(
    workspace: Workspace,
    find: Find,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Conversation], None],
):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("one"))
    settle = indexer._reindex_settled

    def settle_and_change(*arguments: Any) -> None:
        settle(*arguments)
        monkeypatch.undo()
        change(conversation)

    monkeypatch.setattr(indexer, "_reindex_settled", settle_and_change)
    indexer.index_next()
    conversation.refresh_from_db()
    assert conversation.needs_indexing
    assert len(find("two")) == 1


def test_indexer_discards_passages_of_events_replaced_meanwhile(
    workspace: Workspace, find: Find, monkeypatch: pytest.MonkeyPatch
):
    conversation = making.conversation(workspace)
    replace_elements(conversation, builders.stream(ChatResponse("message", "ash")))
    build_passages = indexer._build_passages

    def build_late(*arguments: Any) -> Any:
        built_passages = build_passages(*arguments)
        monkeypatch.undo()
        replace_elements(conversation, builders.stream(ChatResponse("message", "birch")))
        return built_passages

    monkeypatch.setattr(indexer, "_build_passages", build_late)
    indexer.index_next()
    assert not Passage.objects.filter(body="ash").exists()
    assert len(find("birch")) == 1


def test_indexer_keeps_passages_when_a_stale_row_is_saved(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("one", "two"))
    stale = Conversation.objects.get(pk=conversation.pk)
    index_all()
    before = list_passages()
    stale.save()
    with CaptureQueriesContext(connection) as captured:
        index_all()
    assert list_passages() == before
    statements = [query["sql"] for query in captured if Passage.TABLE in query["sql"]]
    assert "SELECT" in {sql.split()[0] for sql in statements} <= {"SELECT", "DECLARE"}


def test_an_outcome_that_comes_after_the_call_returned_is_indexed(
    workspace: Workspace, find: Find, tmp_path: Path
):
    kinds: list[EventKind] = [
        TurnStart(),
        builders.make_call("c"),
        builders.make_inquiry("c.q.1"),
        builders.make_result("c"),
        builders.make_answer("c.q.1"),
    ]
    for end, state in ((4, "unanswered"), (5, "answered")):
        making.write_folder(tmp_path, "17700000000-x", builders.stream(*kinds[:end]))
        mirror.mirror_workspace(tmp_path)
        index_all()
        assert Passage.objects.get(category="question").state == state


def test_two_concurrent_indexers_lose_no_passage(
    workspace: Workspace, find: Find, monkeypatch: pytest.MonkeyPatch
):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("one"))
    monkeypatch.setattr(indexer, "_begin_indexing", refusing)
    assert indexer.index_next() == (conversation.pk, True)
    monkeypatch.undo()
    assert len(find("one")) == 1


def refusing(_key: int) -> Any:
    raise IntegrityError


def test_indexer_indexes_the_newest_conversation_first(workspace: Workspace):
    older, newer = making.conversation(workspace), making.conversation(workspace)
    assert (indexer.index_next(), indexer.index_next(), indexer.index_next()) == (
        (newer.pk, True),
        (older.pk, True),
        None,
    )


def test_count_pending_for_counts_readable_conversations(workspace: Workspace, reader: Any):
    making.conversation(workspace)
    making.conversation(making.workspace("Elsewhere"))
    assert (
        indexer.count_pending_for(reader.pk),
        indexer.count_pending_for(making.person("outsider").pk),
    ) == (1, 0)
    assert indexer.count_pending() == 2
    index_all()
    assert (indexer.count_pending_for(reader.pk), indexer.count_pending()) == (0, 0)


def test_clear_index_lets_conversations_be_indexed_again(workspace: Workspace, find: Find):
    journal.append_events(making.conversation(workspace).pk, make_messages("one"))
    (before,) = find("one")
    for key in indexer.iterate_conversation_ids():
        indexer.clear_index(key)
    assert list_passages() == []
    assert [hit.key for hit in find("one")] == [before.key]
    check_index()


def test_passages_of_an_older_version_are_made_again(workspace: Workspace, find: Find):
    """Of version 1 a question ended with its bare default."""
    kind = InquiryQuestion("Dig?", Boolean(), default=False)
    request = InquiryRequest("q", InquirySource.for_tool("spade"), kind)
    journal.append_events(making.conversation(workspace).pk, [making.event(request)])
    (before,) = find("dig")
    Passage.objects.filter(category="question").update(body="Dig?\nfalse")
    Conversation.objects.update(derived_version=1)
    rebuild.rebuild_all(lambda *_: None)
    assert [hit.key for hit in find('"default false"')] == [before.key]
    check_index()


def test_rebuild_all_remakes_passages_of_version_2(
    workspace: Workspace, find: Find, monkeypatch: pytest.MonkeyPatch
):
    """Of version 2 PostgreSQL found no phrase after 255 occurrences of one of its words."""
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages("spam eggs\n" * 300 + "spam ham"))
    with monkeypatch.context() as patch:
        patch.setattr(passages, "_split_body", lambda body, _: [body])
        index_all()
    JournalEntry.objects.update(category="left")
    Conversation.objects.update(derived_version=2)
    assert rebuild.rebuild_all(lambda *_: None) == 0
    assert len(find('"spam ham"')) == 1
    assert JournalEntry.objects.get().category == "left"
    check_index()


def test_the_queries_of_a_step_do_not_grow_with_the_conversation(
    workspace: Workspace, django_assert_max_num_queries: Any
):
    conversation = making.conversation(workspace)
    journal.append_events(conversation.pk, make_messages(*(f"word {n}" for n in range(300))))
    with django_assert_max_num_queries(30):
        indexer.index_next()
    journal.append_events(conversation.pk, make_messages("one more"))
    with django_assert_max_num_queries(30):
        indexer.index_next()
