"""One window of a conversation a page: by any address, at the same weight whatever the length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Person, ReadMark
from jpweb.store.transcript import read_marks, windows
from jpweb.stream.events import ChatRequest, TurnStart
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryResponse
from jpweb.web.templatetags.jpweb_outline import call_hint
from tests.builders import make_call, make_inquiry, make_result
from tests.machine.sizes import choose_size
from tests.store import making
from tests.store.transcript.test_windows import make_long_conversation, mirror_conversation
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db


def sign_in_reader(conversation: Conversation) -> Client:
    return signed_in(making.person("", Role.READER, conversation.workspace))


def open_conversation(
    client: Client, conversation: Conversation, query: str = "", **headers: Any
) -> ParsedPage:
    response = client.get(f"/conversations/{conversation.pk}?{query}", **headers)
    assert response.status_code == 200, response.content
    return parse_page(response.content.decode())


def item_positions(page: ParsedPage) -> tuple[int, int]:
    window = window_of(page)
    return int(window["data-first"]), int(window["data-last"])


def window_of(page: ParsedPage) -> Tag:
    return next(tag for tag in page if "window" in tag.get("class", "").split())


def ways(page: ParsedPage) -> dict[str, str]:
    return {tag["rel"]: tag["href"] for tag in page if tag.get("rel") in ("prev", "next")}


def anchors(page: ParsedPage) -> list[str]:
    return [tag["id"] for tag in page if tag.get("id", "").startswith("e-")]


def test_window_links_cover_the_conversation_without_scripts():
    conversation = make_long_conversation(30)
    client = sign_in_reader(conversation)
    page, anchor_list = open_conversation(client, conversation), []
    assert "prev" not in ways(page)
    while True:
        anchor_list += anchors(page)
        if "next" not in ways(page):
            break
        page = open_conversation(client, conversation, ways(page)["next"].partition("?")[2])
    assert len(anchor_list) == len(set(anchor_list)) == conversation.entry_count
    assert window_of(page)["id"] == "transcript-end"
    assert "prev" in ways(page)


def test_a_permalink_shows_its_event_in_the_middle_of_a_long_conversation():
    conversation = make_long_conversation(60)
    client = sign_in_reader(conversation)
    window = windows.load_first(conversation.pk)
    while window.has_later:
        window = windows.load_after(conversation.pk, window.item_positions[-1])
    anchor = anchors(open_conversation(client, conversation, "at=305"))[20]
    page = open_conversation(client, conversation, f"at={anchor}")
    assert anchor in anchors(page)
    assert {"prev", "next"} == set(ways(page))


def test_permalink_of_an_unknown_event_returns_404():
    conversation = make_long_conversation(1)
    response = sign_in_reader(conversation).get(f"/conversations/{conversation.pk}?at=e-gone")
    assert response.status_code == 404


def test_window_of_any_query_has_a_transcript():
    client = sign_in_reader(conversation := make_long_conversation(30))
    for query in ("at=end", "after=100000", "before=0", "turn=99999", "at=2147483647", "turn=x"):
        assert open_conversation(client, conversation, query).find_one(id="transcript"), query


def test_a_turn_has_an_address():
    conversation = make_long_conversation(40)
    page = open_conversation(sign_in_reader(conversation), conversation, "turn=33")
    assert page.find_one(id="turn-33").tag == "h2"


def test_a_window_that_begins_within_a_turn_says_so():
    conversation = make_long_conversation(30)
    page = open_conversation(sign_in_reader(conversation), conversation, "after=2")
    first = next(tag for tag in page if "turn-head" in tag.get("class", ""))
    assert "continued" in first["class"]
    assert "id" not in first
    assert "Turn 1, continued" in first.text


def test_htmx_gets_the_window_alone_with_the_way_beyond_it():
    conversation = make_long_conversation(60)
    client = sign_in_reader(conversation)
    later_page = open_conversation(
        client, conversation, "after=100", headers={"HX-Request": "true"}
    )
    assert set(ways(later_page)) == {"next"}
    earlier = open_conversation(client, conversation, "before=300", headers={"HX-Request": "true"})
    assert set(ways(earlier)) == {"prev"}
    assert not any(
        tag.tag in ("html", "main", "nav") for page in (later_page, earlier) for tag in page
    )


def test_window_opens_at_the_end_while_a_question_is_open():
    workspace = making.workspace()
    conversation = making.conversation(workspace)
    run = making.start_run(conversation)
    for _ in range(60):
        journal.append_events(conversation.pk, [making.event(ChatRequest("More"))], run)
    making.question(run)
    client = signed_in(making.person("", Role.RESPONDER, workspace))
    assert window_of(open_conversation(client, conversation))["id"] == "transcript-end"
    assert item_positions(open_conversation(client, conversation, "at=0"))[0] == 0


def test_folds_that_an_address_names_are_open():
    conversation = make_long_conversation(1)
    client = sign_in_reader(conversation)
    call = next(
        tag["id"] for tag in open_conversation(client, conversation) if tag.get("data-tool")
    )
    assert "open" not in open_conversation(client, conversation).find_one(id=call)
    assert "open" in open_conversation(client, conversation, f"open={call},e-other").find_one(
        id=call
    )


def test_questions_that_an_address_names_as_shut_are_not_open():
    conversation = mirror_conversation(
        TurnStart(), make_call("a"), make_inquiry("a.cancelled.1"),
        InquiryResponse("a.cancelled.1", Cancelled(CancellationReason("user"))),
        make_inquiry("a.left.1"), make_inquiry("a.answered.1"),
        InquiryResponse("a.answered.1", Answered(True)), make_result("a"),
    )  # fmt: skip
    client = sign_in_reader(conversation)

    def folds(query: str) -> list[bool]:
        requests = open_conversation(client, conversation, query).find_all(
            **{"data-kind": "inquiry_request"}
        )
        return ["open" in fold for fold in requests]

    asked_here = open_conversation(client, conversation).find_all(
        **{"data-kind": "inquiry_request"}
    )
    cancelled, unanswered, answered_id = (fold["id"] for fold in asked_here)
    assert folds("") == [True, True, False]
    assert folds(f"shut={cancelled}") == [False, True, False]
    assert folds(f"shut={unanswered},e-other,{cancelled}&open={answered_id}") == [
        False,
        False,
        True,
    ]
    assert folds(f"shut={unanswered},{answered_id}&open={unanswered},{answered_id}") == [
        True,
        False,
        False,
    ]


def test_gap_of_hours_between_turns_is_shown():
    conversation = making.conversation(making.workspace())
    for at in ("2026-01-01 10:00:00.0", "2026-01-01 10:14:00.0", "2026-01-01 12:20:00.0"):
        journal.append_events(conversation.pk, [making.event(ChatRequest("Hi"), at)])
    page = open_conversation(sign_in_reader(conversation), conversation)
    assert [tag.text for tag in page if tag.get("class") == "gap"] == ["2 h 6 min later"]


def test_window_marks_new_events_per_reader():
    conversation = make_long_conversation(30)
    client = sign_in_reader(conversation)
    person = Person.objects.get(pk=client.session["_auth_user_id"])
    page = open_conversation(client, conversation)
    assert not any(tag.get("id") == "new" for tag in page)
    assert read_marks.get_read_count(person.pk, conversation.pk) is None
    open_conversation(client, conversation, "at=end")
    assert read_marks.get_read_count(person.pk, conversation.pk) == conversation.entry_count
    ReadMark.objects.update(entry_count=210)
    assert "90 new events since your last visit" in open_conversation(client, conversation).text
    page = open_conversation(client, conversation, "at=new")
    line = page.find_one(id="new")
    following = page.tags[page.tags.index(line) :]
    assert next(tag["data-turn"] for tag in following if "data-turn" in tag) == "21"
    ReadMark.objects.update(
        entry_count=conversation.entry_count + 40
    )  # jp made the conversation shorter
    assert "since your last visit" not in open_conversation(client, conversation).text


def test_link_to_a_question_past_the_first_fifty_shows_that_one_too():
    questions = [make_inquiry(f"c.q{number}", f"Question {number}?") for number in range(60)]
    conversation = mirror_conversation(TurnStart(), make_call("c"), *questions, make_result("c"))
    client = sign_in_reader(conversation)
    for number in (59, 55, 3):
        anchor = journal.find_anchor(conversation.pk, number + 2)
        page = open_conversation(client, conversation, f"at={anchor}")
        assert f"Question {number}?" in page.find_one(id=anchor).text
        questions_shown = page.find_all(**{"data-kind": "inquiry_request"})
        assert len(questions_shown) == (50 if number < 50 else 51)
        assert f"{60 - len(questions_shown)} of 60 questions of this call not shown" in page.text


def test_window_has_no_answer_without_its_question_in_a_long_call():
    kinds: list[Any] = [TurnStart(), make_call("c")]
    for number in range(60):
        inquiry_id = f"c.q{number}"
        kinds += [make_inquiry(inquiry_id), InquiryResponse(inquiry_id, Answered(True))]
    conversation = mirror_conversation(*kinds)
    page = open_conversation(sign_in_reader(conversation), conversation, "after=0")
    assert len(page.find_all(**{"data-kind": "inquiry_request"})) == 50
    outcomes = page.find_all(**{"data-kind": "inquiry_response"})
    assert [tag for tag in outcomes if "orphan" in tag.get("class", "")] == []


def test_read_mark_is_limited_to_the_length_of_the_conversation():
    conversation = make_long_conversation(2)
    client = sign_in_reader(conversation)
    person = int(client.session["_auth_user_id"])
    for length, expected in (("7", 7), ("999", 20), ("9", 20)):
        assert (
            client.post(
                f"/conversations/{conversation.pk}/read", {"entry_count": length}
            ).status_code
            == 204
        )
        assert read_marks.get_read_count(person, conversation.pk) == expected
    assert (
        client.post(f"/conversations/{conversation.pk}/read", {"entry_count": "x"}).status_code
        == 400
    )


def test_read_count_is_cut_to_the_length_of_a_shortened_conversation():
    conversation = make_long_conversation(2)
    person = int(sign_in_reader(conversation).session["_auth_user_id"])
    read_marks.record_read(person, conversation.pk, conversation.entry_count)
    Conversation.objects.update(entry_count=15)
    read_marks.record_read(person, conversation.pk, 15)
    assert read_marks.get_read_count(person, conversation.pk) == 15


def test_outline_lists_turns_and_items_of_the_shown_one():
    conversation = mirror_conversation(
        TurnStart(), ChatRequest("Mend the roof"), make_call("a", "hammer"),
        TurnStart(), ChatRequest("Paint it"),
    )  # fmt: skip
    client = sign_in_reader(conversation)
    outline = open_conversation(client, conversation).find_one(id="outline").text
    assert "Mend the roof" in outline
    assert "Paint it" in outline
    assert "hammer" in outline
    inside = client.get(f"/conversations/{conversation.pk}/outline?turn=0")
    assert "hammer" in inside.content.decode()
    assert (
        "hammer"
        not in client.get(f"/conversations/{conversation.pk}/outline?turn=1").content.decode()
    )


def test_outline_leads_to_all_of_a_turn_that_the_window_shows_in_part():
    conversation = mirror_conversation(
        TurnStart(), *(make_call(f"c{n}", "hammer") for n in range(80)), TurnStart()
    )
    client = sign_in_reader(conversation)
    for query, partly in (("at=0", True), ("at=60", True), ("at=end", True)):
        outline_text = open_conversation(client, conversation, query).find_one(id="outline").text
        assert ("Show whole turn" in outline_text) == partly
    short_conversation = mirror_conversation(TurnStart(), make_call("a", "hammer"), TurnStart())
    assert (
        "Show whole turn"
        not in open_conversation(sign_in_reader(short_conversation), short_conversation)
        .find_one(id="outline")
        .text
    )
    outline_html = client.get(f"/conversations/{conversation.pk}/outline?turn=0").content.decode()
    assert outline_html.count("hammer") >= 80


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "src/a.py", "text": "x"}, "src/a.py"),
        ({"repository": "a/b", "path": "src/b.py"}, "src/b.py"),
        ({"deep": {"a": 1}, "count": 3}, "count=3"),
        ({"flag": True, "empty": "", "text": "  first\nsecond"}, "text=first"),
        ({"text": "x" * 500}, "text=" + "x" * 60 + "…"),
        ({"flag": True}, ""),
    ],
)
def test_call_hint_distinguishes_calls_of_one_tool(arguments: Any, expected: str):
    assert call_hint(make_call("a", "fs", **arguments)) == expected


def test_window_queries_and_size_do_not_grow_with_the_conversation():
    queries = ("at=0", "at=end", "at=200", "show=questions&at=200", "turn=25")
    short, much = (measure(turns, queries) for turns in (50, choose_size(200, 500)))
    for query in queries:
        assert (query, short[query].queries) == (query, much[query].queries)
        assert max(short[query].size, much[query].size) < 300_000, query
        assert much[query].size < short[query].size * 1.2, query


class Cost(NamedTuple):
    """SQL queries and bytes of a page."""

    queries: int
    size: int


def measure(turns: int, queries: Iterable[str]) -> dict[str, Cost]:
    """Return what the pages of a conversation of so many turns cost."""
    conversation = make_long_conversation(turns)
    client = sign_in_reader(conversation)
    client.get(f"/conversations/{conversation.pk}?at=end")
    costs = {}
    for query in queries:
        with CaptureQueriesContext(connection) as captured:
            response = client.get(f"/conversations/{conversation.pk}?{query}")
        costs[query] = Cost(len(captured), len(response.content))
    return costs


def test_window_with_a_filter_has_turn_headings():
    conversation = make_long_conversation(60)
    client = sign_in_reader(conversation)
    page = open_conversation(client, conversation, "show=questions")
    turns = [tag for tag in page if "turn-head" in tag.get("class", "")]
    assert [tag.get("id") for tag in turns[:3]] == ["turn-0", "turn-1", "turn-2"]
    later_page = open_conversation(
        client, conversation, f"show=questions&after={item_positions(page)[-1]}"
    )
    first = next(tag for tag in later_page if "turn-head" in tag.get("class", ""))
    assert "id" not in first


def test_window_fetched_by_a_script_is_no_read_unless_a_document():
    conversation = make_long_conversation(2)
    client = sign_in_reader(conversation)
    person = int(client.session["_auth_user_id"])
    open_conversation(client, conversation, headers={"Sec-Fetch-Dest": "empty"})
    assert read_marks.get_read_count(person, conversation.pk) is None
    open_conversation(client, conversation, headers={"Sec-Fetch-Dest": "document"})
    assert read_marks.get_read_count(person, conversation.pk) == conversation.entry_count


def test_page_with_a_filter_leaves_the_conversation_unread():
    conversation = make_long_conversation(2)
    client = sign_in_reader(conversation)
    person = int(client.session["_auth_user_id"])
    open_conversation(client, conversation, "show=problems")
    open_conversation(client, conversation, "show=person&at=end")
    assert read_marks.get_read_count(person, conversation.pk) is None
    open_conversation(client, conversation, "show=nonsense")
    assert read_marks.get_read_count(person, conversation.pk) == conversation.entry_count
