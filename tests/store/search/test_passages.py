"""What is indexed of a journal, and what never is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.jp_files import mirror
from jpweb.store.models import Passage, Workspace
from jpweb.store.search import dialects, passages, tokenizer
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    EventKind,
    ToolCallResponse,
)
from jpweb.stream.inquiry import (
    Answered,
    InquiryQuestion,
    InquiryRequest,
    InquirySource,
    Redacted,
)
from tests import builders
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.search.conftest import (
    Find,
    check_index,
    list_places,
    make_messages,
    replace_elements,
    whole_index,
)

pytestmark = pytest.mark.django_db
CANARY = "xyzzycanary"


def test_passages_cover_messages_questions_answers_calls_and_results(
    workspace: Workspace, find: Find
):
    run = making.start_run(making.conversation(workspace, "Beds of beans"))
    row = making.question(run, Text(), "Which compost?")
    making.settle(row, Answered("horse manure"))
    kinds: list[EventKind] = [
        ChatResponse("reasoning", "pondering loam"),
        ChatResponse("message", "planting leeks"),
        ChatResponse("data", {"crop": {"name": "chard"}}),
        ToolCallResponse("call_1", "harvest ready", is_error=False),
        Compaction(0, 0, {"summary": {"summary": "spring sowing"}}),
    ]
    journal.append_events(run.conversation_id, [making.event(kind) for kind in kinds])
    for words, category in {
        "beans": "title",
        "hello": "person",
        "pondering": "reasoning",
        "leeks": "message",
        "chard": "structure",
        "vault": "call",
        "harvest": "result",
        "compost": "question",
        "manure": "outcome",
        "sowing": "compaction",
    }.items():
        (hit,) = find(words)
        assert (hit.category, hit.workspace, hit.title) == (category, "Garden", "Beds of beans")
    check_index()


def test_arguments_and_options_are_found(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    kind = Select((Option("drip", "slow water"), Option(7)))
    request = InquiryRequest(
        "q",
        InquirySource.for_tool("hose"),
        InquiryQuestion("How?", kind, context="dry soil", default="drip"),
    )
    call = builders.make_call("c", "hose", zones=[{"bed": "north"}], force=True)
    journal.append_events(conversation.pk, [making.event(call), making.event(request)])
    assert [hit.category for hit in find("zones north bed true")] == ["call"]
    assert [hit.category for hit in find("soil slow drip")] == ["question"]


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        (Boolean(), False, "How?\ndefault: false"),
        (Text(), "two\nlines", "How?\ndefault: two\nlines"),
        (Select((Option("drip"),)), "drip", "How?\ndrip\ndefault: drip"),
        (Text(), {"zones": [1, 2]}, "How?\ndefault: zones: 1\n2"),
        (Boolean(), None, "How?"),
        (Text(), "", "How?"),
        (Secret(), "drip", "How?"),
    ],
)
def test_question_passage_marks_the_default(
    workspace: Workspace, kind: AnswerType, default: Any, expected: str
):
    question = InquiryQuestion("How?", kind, default=default)
    request = InquiryRequest("q", InquirySource.for_tool("hose"), question)
    journal.append_events(making.conversation(workspace, "").pk, [making.event(request)])
    index_all()
    assert Passage.objects.get(category="question").body == expected


def test_passages_leave_out_events_without_text_of_people_or_models(workspace: Workspace):
    conversation = making.conversation(workspace, "")
    elements = [
        builders.raw({"type": "config_delta", "timestamp": builders.AT, "delta": {"a": CANARY}}),
        builders.raw({"type": "novelty", "text": CANARY}),
        builders.raw({"type": "chat_request", "content": [CANARY]}),
        builders.raw({"type": "turn_start", "timestamp": builders.AT}),
    ]
    replace_elements(conversation, elements)
    index_all()
    assert list_places() == []


def test_a_secret_is_nowhere(workspace: Workspace, find: Find, tmp_path: Path):
    """Neither one that was redacted, nor one that somebody's file holds."""
    run = making.start_run(making.conversation(workspace))
    making.settle(making.question(run, Secret(), "Token please?"), Redacted())
    secret = InquiryQuestion("Password please?", Secret(), default=CANARY)
    elements = builders.stream(
        ChatRequest("Go"),
        builders.make_call("c", "vault"),
        InquiryRequest("c.q.1", InquirySource.for_tool("vault"), secret),
        builders.make_answer("c.q.1", CANARY),
        builders.make_answer("c.q.1", CANARY),
        builders.make_answer("never.asked", CANARY),
        InquiryRequest("c.q.2", InquirySource.for_tool("vault"), InquiryQuestion("Twice?", Text())),
        InquiryRequest("c.q.2", InquirySource.for_tool("vault"), secret),
        builders.make_answer("c.q.2", CANARY),
        builders.make_answer("c.q.2", CANARY),
    )
    making.write_folder(tmp_path, "17700000000-x", elements)
    mirror.mirror_workspace(tmp_path)
    index_all()
    assert len(find("please")) == 1
    assert Passage.objects.filter(body="Password please?").exists()
    assert CANARY not in whole_index()
    journal.append_events(run.conversation_id, make_messages(CANARY))
    index_all()
    assert CANARY in whole_index()


def test_long_text_is_split_into_passages_and_found_to_its_end(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    text = "".join(f"filler{n} " for n in range(12_000)) + "needle"
    journal.append_events(conversation.pk, make_messages(text))
    (hit,) = find("needle")
    assert hit.position == 0
    parts = Passage.objects.filter(position=0).order_by("part")
    assert "".join(parts.values_list("body", flat=True)) == text
    assert all(
        len(body) <= passages.MAX_PASSAGE_CHARS for body in parts.values_list("body", flat=True)
    )
    assert list(parts.values_list("part", flat=True)) == [0, 1, 2]


def test_passages_cut_text_beyond_their_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(passages, "MAX_PASSAGES_PER_ENTRY", 2)
    monkeypatch.setattr(passages, "MAX_PASSAGE_CHARS", 10)
    conversation = making.conversation(workspace, "")
    journal.append_events(conversation.pk, make_messages("x" * 100))
    index_all()
    assert list(Passage.objects.values_list("body", flat=True)) == ["x" * 10] * 2


@pytest.fixture
def postgresql_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "get_dialect", lambda: dialects.POSTGRESQL)


def list_bodies(text: str) -> list[str]:
    """Return the bodies of the passages of a message."""
    source = passages.SourceEntry(0, 0, "a", builders.make_element(ChatResponse("message", text)))
    terms = passages.ConversationTerms(datetime(2026, 1, 1, tzinfo=UTC), frozenset())
    context = passages.EntryContext({}, {}, {})
    return [draft.body for draft in passages.make_passages(source, terms, context)]


def list_positions(body: str) -> list[int]:
    """Return the positions of all words of a passage in PostgreSQL's index."""
    lexemes = tokenizer.make_tsvector(body, "").split(" ")
    return sorted(
        int(position) for lexeme in lexemes for position in lexeme.rpartition(":")[2].split(",")
    )


@pytest.mark.usefixtures("postgresql_dialect")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("spam eggs\n" * 255 + "ham", 1, id="as often as a word has positions"),
        pytest.param("spam eggs\n" * 300 + "spam ham", 2, id="more often"),
        pytest.param("".join(f"{n} Späm\n" for n in range(600)), 3, id="with accents"),
        pytest.param("".join(f"{n % 256:02x} " for n in range(16_600)), 2, id="many words"),
    ],
)
def test_passage_words_have_consecutive_positions_on_postgresql(text: str, count: int):
    bodies = list_bodies(text)
    assert ("".join(bodies), len(bodies)) == (text, count)
    for body in bodies:
        assert list_positions(body) == [*range(1, len(tokenizer.split_words(body)) + 1)]
    assert "\n" not in text or {body[-1] for body in bodies[:-1]} <= {"\n"}


@pytest.mark.usefixtures("postgresql_dialect")
def test_a_long_text_of_one_word_is_indexed_to_its_end():
    text = "ab " * 100_000 + "needle"
    bodies = list_bodies(text)
    assert "".join(bodies) == text
    assert {body[-1] for body in bodies[:-1]} == {" "}
    assert len(bodies) <= passages.MAX_PASSAGES_PER_ENTRY


def test_text_that_repeats_a_word_is_one_passage_on_sqlite(monkeypatch: pytest.MonkeyPatch):
    """FTS5 knows all places of a word, and finds words of one event together in one passage."""
    monkeypatch.setattr(dialects, "get_dialect", lambda: dialects.SQLITE)
    assert len(list_bodies("spam eggs\n" * 300)) == 1
