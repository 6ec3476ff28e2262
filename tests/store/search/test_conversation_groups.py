"""Results by conversation: words over several events, relevance, and what nothing has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jpweb.store import journal
from jpweb.store.models import Conversation, Person, Workspace
from jpweb.store.search import conversation_groups, engine, query_parser
from jpweb.store.search.conversation_groups import GroupedHits
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest, ToolCallResponse
from tests.store import making
from tests.store.background_passes import index_all

pytestmark = pytest.mark.django_db
Group = Callable[..., GroupedHits]


@pytest.fixture
def group(reader: Person) -> Group:
    def look(query_text: str, offset: int = 0) -> GroupedHits:
        index_all()
        search = engine.make_search(reader.pk, query_parser.parse_query(query_text))
        return conversation_groups.group_hits(search, offset)

    return look


def conversation(workspace: Workspace, title: str, *texts: str) -> Conversation:
    conversation: Conversation = making.conversation(workspace, title)
    events = [making.event(ChatResponse("message", text)) for text in texts]
    journal.append_events(conversation.pk, events)
    return conversation


def list_ids(grouped: GroupedHits) -> list[int]:
    return [group.conversation_id for group in grouped.groups]


def test_the_words_of_a_query_may_be_in_several_events(workspace: Workspace, group: Group):
    both = conversation(workspace, "One", "we prune the pear", "much later", "a new ladder")
    one_alone = conversation(workspace, "Two", "a ladder", "nothing else")
    grouped = group("pear ladder")
    assert list_ids(grouped) == [both.pk, one_alone.pk]
    assert [hit_group.missing for hit_group in grouped.groups] == [(), ("pear",)]
    assert grouped.has_all_words
    assert [hit_group.event_count for hit_group in grouped.groups] == [2, 1]


def test_sentence_query_ignores_stop_words(workspace: Workspace, group: Group):
    conversation(
        workspace, "Noise", "which was the what and why did we do it", "and then we had it"
    )
    right = conversation(
        workspace, "Models", "We chose the small embedding model, since it is quick."
    )
    grouped = group("which embedding model was chosen")
    assert list_ids(grouped) == [right.pk]
    assert grouped.omitted_words == ("which", "was")
    marked = [piece.text for piece in grouped.groups[0].hits[0].snippet if piece.highlighted]
    assert marked == ["chose", "embedding", "model"]


def test_query_of_stop_words_alone_searches_for_them(workspace: Workspace, group: Group):
    row = conversation(workspace, "Words", "to be or not to be")
    assert list_ids(group("to be")) == [row.pk]


def test_groups_without_all_words_rank_by_matched_words(workspace: Workspace, group: Group):
    conversation(workspace, "One", "pear")
    most = conversation(workspace, "Most", "pear and plum")
    grouped = group("pear plum quince")
    assert list_ids(grouped)[0] == most.pk
    assert not grouped.has_all_words
    assert grouped.groups[0].missing == ("quince",)


def test_words_that_a_conversation_lacks_are_named_as_typed(workspace: Workspace, group: Group):
    conversation(workspace, "One", "pear")
    grouped = group('pear データ Größe "src/a b.rs" 데이터 데이터')
    assert grouped.groups[0].missing == ("データ", "Größe", "src/a b.rs", "데이터")


def test_a_title_counts_more_than_a_result_that_has_everything(workspace: Workspace, group: Group):
    wanted = conversation(workspace, "Wit highlighting", "some words")
    other = making.conversation(workspace, "Dump")
    call = ToolCallRequest("c1", "fs_read", {})
    result = ToolCallResponse(
        "c1", "wit highlighting and ten thousand other words " * 5, is_error=False
    )
    journal.append_events(other.pk, [making.event(kind) for kind in (call, result)])
    assert list_ids(group("wit highlighting")) == [wanted.pk, other.pk]


def test_filters_phrases_and_excluded_words_count_for_each_event(
    workspace: Workspace, group: Group
):
    row = conversation(workspace, "One", "red pear", "green pear", "pear tree")
    events = [making.event(ChatRequest("a pear, please"))]
    journal.append_events(row.pk, events)
    assert group("pear").event_count == 4
    assert group("pear -green").event_count == 3
    assert group("pear kind:person").event_count == 1
    assert group('"pear tree"').event_count == 1
    assert group("pear").event_counts == {"message": 3, "person": 1}


def test_text_without_blanks_is_found_by_a_part_of_it(workspace: Workspace, group: Group):
    row = conversation(workspace, "旅行", "来月は東京都へ行きます。")
    conversation(workspace, "Other", "京の東、都")
    grouped = group("東京")
    assert list_ids(grouped) == [row.pk]
    assert [p.text for p in grouped.groups[0].hits[0].snippet if p.highlighted] == ["東京"]
    assert list_ids(group("旅")) == [row.pk]


def test_a_page_has_ten_conversations_with_three_hits_each(
    workspace: Workspace, group: Group, monkeypatch: pytest.MonkeyPatch
):
    conversations = [conversation(workspace, f"Talk {n}", *["pear"] * 5) for n in range(12)]
    grouped = group("pear")
    assert (len(grouped.groups), grouped.conversation_count, grouped.event_count) == (10, 12, 60)
    assert {len(hit_group.hits) for hit_group in grouped.groups} == {3}
    next_page = group("pear", 10)
    assert {*list_ids(grouped), *list_ids(next_page)} == {row.pk for row in conversations}
    assert not grouped.is_limited
    monkeypatch.setattr(conversation_groups, "MAX_EVENTS_PER_TERM", 10)
    limited = group("pear")
    assert (limited.is_limited, limited.event_count) == (True, 10)
