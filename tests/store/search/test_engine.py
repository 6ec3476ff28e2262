"""Searching: who finds what, in which order, whatever was typed. The same on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Membership, Person, Workspace
from jpweb.store.search import conversation_groups, dialects, engine, query_parser, saved_searches
from jpweb.store.search.query_parser import QueryTerm
from jpweb.stream import timestamps
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind
from tests import builders
from tests.machine.sizes import choose_size
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.search.conftest import Find
from tests.store.search.test_query_parser import TYPED

pytestmark = pytest.mark.django_db
START = datetime(2026, 3, 1, tzinfo=UTC)
WORDS = ["pear", "plum", "the", "-tree", "prun*", '"pear tree"', "東京", "kind:title"]
TYPED_WORDS = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
ASCII_TEXTS = st.from_regex(r"[\x00-\x7f]{0,30}[a-z0-9][\x00-\x7f]{0,30}", fullmatch=True)


def say(conversation: Conversation, *texts: str, since: datetime = START) -> None:
    """Append messages, each a day later than the one before."""
    for day, text in enumerate(texts):
        at = timestamps.format_timestamp(since + timedelta(days=day))
        journal.append_events(conversation.pk, [making.event(ChatResponse("message", text), at)])


def list_highlights(hit: engine.SearchHit) -> list[str]:
    return [piece.text for piece in hit.snippet if piece.highlighted]


@pytest.fixture
def conversation(workspace: Workspace) -> Conversation:
    conversation: Conversation = making.conversation(workspace, "Orchard")
    return conversation


#: The positions of the messages that each query finds; the title has -1.
POSITIONS_BY_QUERY: dict[str, set[int]] = {
    "prune": {0, 1},
    "PRUNE": {0, 1},
    "prun": {0, 1},
    '"prun"': set(),
    "pruning": {0, 1},
    "prun*": {0, 1},
    "pear prune": {0},
    "pear plum": set(),
    '"pear tree"': {0},
    '"tree pear"': set(),
    '"the pear tr"*': {0},
    "tree -pear": {1},
    'tree -"plum tree"': {0},
    "-pear": {1, 2, 3, 4, -1},
    "-pear -cafe* -kind:title": {1, 3, 4},
    "cafe": {2},
    "CAFÉ": {2},
    "große": {2},
    "fs_read_file": {3},
    "read": set(),
    "fs_read*": {3},
    "src/orchard/main.rs": {3},
    "main": {3},
    "rs": {3},
    "3.14": {3},
    "well-known": {4},
    "known": {4},
    "wfsaid w1 fmessage": set(),
    "orchard kind:title": {-1},
    "kind:title kind:message": {-1},
    "kind:assistant -kind:title tree": {0, 1},
    "kind:question": set(),
    "in:garden plum": {1},
    'in:"GARDEN" plum': {1},
    "before:2026-03-03 tree": {0, 1},
    "before:2026-03-02 tree": {0},
    "after:2026-03-02 tree": {1},
    "after:2026-03-02 before:2026-03-03": {1},
    "after:2100": set(),
    "before:1950": set(),
}


def test_search_finds_passages_by_query_text(conversation: Conversation, find: Find):
    say(
        conversation,
        "Prune the pear tree.",
        "The plum tree has been pruned.",
        "Un café, große Tasse",
        "fs_read_file(src/orchard/main.rs) gave 3.14",
        "a well-known thing",
    )
    positions = {
        query_text: {hit.position for hit in find(query_text)} for query_text in POSITIONS_BY_QUERY
    }
    assert positions == POSITIONS_BY_QUERY


@pytest.mark.parametrize(
    ("query_text", "expected"),
    [
        ("Python入門", {0}),
        ('"Python入門"', {0}),
        ("PYTHON入門", {0}),
        ("Python入門*", {0}),
        ('"Python 入門"', {0}),
        ("入門", {0, 1, 5}),
        ("本 -入門", {2}),
        ("本 -Python入門", {1, 2}),
        ('本 -"python 入門" -kind:title', {1, 2}),
        ("本 -門入", {0, 1, 2}),
        ("-入門 -本 -kind:title", {3, 4, 6, 7, 8}),
        ("-Python入門 -kind:title", {1, 2, 3, 4, 5, 6, 7, 8}),
        ("GPT模型", {3, 4}),
        ('"GPT模型"', {3, 4}),
        ("模型 -gpt模型", {6}),
        ("話の本", {2}),
        ("東京都", set()),
        ("京都 -東京都", {8}),
        ("GPT모델", {7}),
        ("BERT모델", set()),
        ("모델 -BERT모델", {7}),
        ("Ｐｙｔｈｏｎ入門", {5}),
        ("ｐＹＴＨＯＮ入門", {5}),
        ("入門 -ｐｙｔｈｏｎ入門", {0, 1}),
        ("cafe店", {6}),
        ("CAFÉ店 -茶", {6}),
        ('"le café店 の"', set()),
        ('"un café店"', {6}),
    ],
)
def test_text_without_blanks_is_found_with_the_letters_beside_it(
    conversation: Conversation, find: Find, query_text: str, expected: set[int]
):
    say(
        conversation,
        "Python入門の本",
        "Ruby入門の本",
        "話の本の",
        "训练GPT模型。",
        "gpt 模型",
        "Ｐｙｔｈｏｎ入門",
        "BERT模型 de un\ncafé店",
        "GPT모델을",
        "京都と東京",
    )
    hits = find(query_text)
    assert {hit.position for hit in hits} == expected
    if not query_text.startswith("-"):
        assert all(list_highlights(hit) for hit in hits)


def test_search_compares_bodies_only_for_cjk_queries(conversation: Conversation, reader: Person):
    statements = []
    for query_text in ("pear -plum", "東京 -都", "東京都"):
        search = engine.make_search(reader.pk, query_parser.parse_query(query_text))
        with CaptureQueriesContext(connection) as captured:
            search.list_newest()
        statements += [statement["sql"] for statement in captured]
    comparison = dialects.get_dialect().body_match.removesuffix("%s")
    assert [comparison in statement for statement in statements] == [False, False, True]


def test_search_kind_assistant_matches_messages_and_data(conversation: Conversation, find: Find):
    """A kind that people name stands for every category of it."""
    say(conversation, "plain")
    journal.append_events(conversation.pk, [making.event(ChatResponse("data", {"crop": "beet"}))])
    assert {hit.category for hit in find("kind:assistant")} == {"message", "structure"}


def test_filters_of_one_kind_are_alternatives_and_of_two_are_not(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    for author, text in (("Ada Lovelace", "water"), ("Bob", "water"), ("Bob", "dig")):
        journal.append_events(conversation.pk, [making.event(ChatRequest(text, author=author))])
    assert len(find("who:ada who:bob")) == 3
    assert len(find('who:"ada lovelace" water')) == 1
    assert len(find("who:bob kind:person dig")) == 1
    assert len(find("who:bob -who:ada")) == 2
    assert find("who:bob kind:assistant") == []


def test_search_tool_filter_matches_names_and_prefixes(workspace: Workspace, find: Find):
    conversation = making.conversation(workspace)
    kinds: list[EventKind] = [
        builders.make_call("a", "fs_read_file", path="x"),
        builders.make_result("a", "the text"),
        builders.make_call("b", "git_commit"),
        builders.make_result("b", "refused", is_error=True),
    ]
    for kind in kinds:
        journal.append_events(conversation.pk, [making.event(kind)])
    assert [hit.category for hit in find("tool:fs_read_file")] == ["result", "call"]
    assert [hit.category for hit in find("tool:git kind:failure")] == ["failure"]
    assert len(find("tool:git tool:fs")) == 4
    assert {hit.tool for hit in find("tool:fs")} == {"fs_read_file"}


def test_search_orders_hits_by_time_not_by_indexing(workspace: Workspace, find: Find):
    late_conversation, early_conversation = (making.conversation(workspace) for _ in range(2))
    say(late_conversation, "tree late", since=START + timedelta(days=9))
    assert len(find("tree")) == 1
    say(early_conversation, "tree early", "tree later")
    assert [hit.snippet[-1].text.strip() for hit in find("tree")] == ["late", "later", "early"]
    assert find("tree")[0].at == START + timedelta(days=9)


def test_the_pages_cover_every_hit_once(
    conversation: Conversation, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "PAGE_HITS", 3)
    for _ in range(11):
        say(conversation, "the same instant")
    index_all()
    search = engine.make_search(reader.pk, query_parser.parse_query("instant"))
    positions: list[int] = []
    below = 0
    while True:
        page = search.list_newest(below)
        positions += [hit.position for hit in page.rows]
        below = page.before
        if not below:
            break
    assert positions == list(range(10, -1, -1))


def test_hits_are_counted_up_to_a_bound(
    conversation: Conversation, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "COUNT_LIMIT", 4)
    say(conversation, *["tree"] * 3, "plum")
    index_all()
    counts = {
        t: engine.make_search(reader.pk, query_parser.parse_query(t)).count_hits()
        for t in ("tree", "", "none")
    }
    assert counts == {"tree": 3, "": 0, "none": 0}
    say(conversation, *["tree"] * 8)
    index_all()
    assert engine.make_search(reader.pk, query_parser.parse_query("tree")).count_hits() == 5


def test_search_and_its_counts_cover_only_readable_workspaces(
    workspace: Workspace, reader: Person, find: Find
):
    other_workspace = making.workspace("Elsewhere")
    say(making.conversation(workspace), "shared word")
    say(making.conversation(other_workspace), "shared word")
    outsider, rival = making.person("outsider"), making.person("rival", Role.OWNER, other_workspace)
    member_of_both = making.person("both", Role.READER, workspace)
    Membership.objects.create(person=member_of_both, workspace=other_workspace, role=Role.READER)
    index_all()
    for person, expected in ((reader, 1), (rival, 1), (outsider, 0), (member_of_both, 2)):
        for query_text in (
            "shared",
            "-other kind:assistant",
            "kind:assistant",
            "shared in:elsewhere",
        ):
            search = engine.make_search(person.pk, query_parser.parse_query(query_text))
            own_count = expected
            if "in:" in query_text:
                own_count = 1 if person in (rival, member_of_both) else expected
                assert bool(search.problems) is (person in (reader, outsider))
            assert (
                len(search.list_newest().rows),
                search.count_hits(),
                conversation_groups.group_hits(search).event_count
                if search.has_words
                else own_count,
            ) == (own_count,) * 3
    assert {hit.workspace for hit in find("shared")} == {"Garden"}


def test_the_index_alone_is_not_believed(
    workspace: Workspace, reader: Person, monkeypatch: pytest.MonkeyPatch
):
    """A row of another workspace is left out though its tags say that it is one's own."""
    other_workspace = making.workspace("Elsewhere")
    conversation = making.conversation(other_workspace)
    say(conversation, "word")
    with monkeypatch.context() as patch:
        term = f"w{workspace.pk}"
        patch.setattr("jpweb.store.search.filter_terms.make_workspace_term", lambda _key: term)
        index_all()
    search = engine.make_search(reader.pk, query_parser.parse_query("word"))
    assert (search.list_newest().rows, search.count_hits()) == ([], 0)
    assert conversation_groups.group_hits(search).groups == []


def test_search_words_do_not_match_filter_terms(workspace: Workspace, reader: Person, find: Find):
    say(making.conversation(workspace), "w1 fquestion ocancelled #w1")
    assert find("kind:question") == find("outcome:cancelled") == []
    assert len(find("fquestion")) == 1
    assert len(find(f"w{workspace.pk}")) == int(workspace.pk == 1)
    assert find("fmessage") == []


def test_build_fts5_escapes_quotes_in_terms():
    assert dialects.build_fts5([QueryTerm('a" OR "b')], []) == '(body : "a"" OR ""b")'


def test_snippet_highlights_matches_as_plain_text(conversation: Conversation, find: Find):
    say(conversation, "long " * 200 + "<b>Pear</b>\u202e trees\nand pears " + "tail " * 200)
    (hit,) = find("pear tree*")
    assert list_highlights(hit) == ["Pear", "trees", "pears"]
    text = "".join(piece.text for piece in hit.snippet)
    assert "<b>Pear</b>\ufffd trees and" in text
    assert len(text) < 600
    assert list_highlights(find("long -none")[0])[0] == "long"
    assert list_highlights(find("kind:assistant")[0]) == []


def test_search_accepts_any_query_text(conversation: Conversation, reader: Person):
    say(conversation, "Prune the pear tree.", "The plum tree has been pruned.", "東京の木")
    index_all()
    hit_counts: list[int] = []

    @settings(max_examples=choose_size(15, 200))
    @given(query_text=TYPED | st.text(max_size=40) | TYPED_WORDS)
    def look_for(query_text: str) -> None:
        form_filters = dict.fromkeys(("in", "tool", "reason", "label"), query_text)
        for filters in (form_filters, {}):
            search = engine.make_search(reader.pk, query_parser.parse_query(query_text, filters))
            hit_counts.append(search.count_hits())
            assert len(search.list_newest().rows) == hit_counts[-1]
            if search.has_words:
                assert conversation_groups.group_hits(search).event_count >= hit_counts[-1]

    look_for()
    assert any(hit_counts)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=choose_size(15, 60)
)
@given(text=ASCII_TEXTS, other_text=st.text(max_size=60))
def test_search_finds_a_message_by_any_of_its_phrases(
    workspace: Workspace, reader: Person, text: str, other_text: str
):
    """Of text beyond ASCII only that nothing fails: databases split some of it in another way."""
    conversation = making.conversation(workspace)
    say(conversation, text, other_text)
    index_all()
    phrases = [said.replace(chr(34), " ") for said in (text, other_text)]
    queries = [query_parser.parse_query(f'"{phrase}"') for phrase in phrases]
    pages = [engine.make_search(reader.pk, query).list_newest() for query in queries]
    assert (conversation.pk, 0) in {(hit.conversation_id, hit.position) for hit in pages[0].rows}
    conversation.delete()  # a page of hits would not hold those of all examples


def test_a_search_costs_two_queries(
    conversation: Conversation, reader: Person, django_assert_num_queries: Any
):
    say(conversation, *["tree"] * 30)
    index_all()
    with django_assert_num_queries(2):
        search = engine.make_search(reader.pk, query_parser.parse_query("tree kind:assistant"))
        assert len(search.list_newest().rows) == 25


def test_searches_are_saved_for_oneself(reader: Person, monkeypatch: pytest.MonkeyPatch):
    other_person = making.person("other")
    assert saved_searches.save_search(reader.pk, "Trees", "q=tree")
    assert saved_searches.save_search(reader.pk, "Trees", "q=trees")
    assert saved_searches.save_search(reader.pk, "Beds\x00", "q=bed")
    assert [
        (saved_search.name, saved_search.query)
        for saved_search in saved_searches.list_saved(reader.pk)
    ] == [
        ("Beds\ufffd", "q=bed"),
        ("Trees", "q=trees"),
    ]
    (beds, trees) = saved_searches.list_saved(reader.pk)
    assert saved_searches.list_saved(other_person.pk) == []
    assert not saved_searches.delete_saved(other_person.pk, beds.pk)
    monkeypatch.setattr(saved_searches, "MAX_SAVED", 2)
    assert not saved_searches.save_search(reader.pk, "One more", "q=x")
    assert saved_searches.save_search(reader.pk, "Trees", "q=tree*")
    assert saved_searches.delete_saved(reader.pk, trees.pk)
    assert not saved_searches.delete_saved(reader.pk, trees.pk)
    assert [saved_search.name for saved_search in saved_searches.list_saved(reader.pk)] == [
        "Beds\ufffd"
    ]
