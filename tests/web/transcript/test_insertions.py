"""However a conversation grows, a page that is told of it shows what one shows that is loaded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Workspace
from jpweb.store.transcript import windows
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind, TurnStart
from jpweb.web import transcript
from jpweb.web.transcript import TranscriptQuery
from jpweb.web.websocket import conversation_updates, insert_targets
from jpweb.web.websocket.conversation_updates import RenderedState
from tests.builders import make_answer, make_call, make_inquiry, make_result
from tests.machine.sizes import choose_size, mark_proof
from tests.store import making

pytestmark = pytest.mark.django_db

_PUT = re.compile(r'<div hx-swap-oob="(beforeend|beforebegin|afterend):#([\w-]+)">')
#: The heading of a turn, and an item that stands for itself.
_IDS = re.compile(r'<h2 class="turn-head" id="([^"]+)"|id="([^"]+)" data-kind=')
Ids = list[str]


@pytest.fixture
def workspace() -> Workspace:
    return making.workspace()


def ids_of(lines: list[transcript.TranscriptLine]) -> list[tuple[int, str]]:
    """Return the ids of headings and items as they stand, each with the position of its item."""
    ids: list[tuple[int, str]] = []
    for line in lines:
        item_position = line.item.first
        if line.turn and not line.is_continued:
            ids.append((item_position, f"turn-{line.turn.number}"))
        ids.append((item_position, line.item.elements[0].anchor))
    return ids


def load_line_ids(conversation: Conversation, show: str) -> list[tuple[int, str]]:
    """Return what a page shows that is loaded now."""
    choice = TranscriptQuery.from_params({"show": show})
    return ids_of(transcript.load_page(conversation, choice, read_count=None).lines)


def apply_update(conversation: Conversation, page: RenderedState, ids: Ids) -> Ids:
    """Return what a page shows once it has put what it is told where it is told."""
    html = (
        conversation_updates._ConversationSnapshot(conversation).get_update(page, Role.READER).html
    )
    parts = _PUT.split(html)
    for position_mark, place, content in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        heading, item = _first(content)
        fresh = [anchor for anchor in (heading, item) if anchor and anchor not in ids]
        if position_mark == "beforeend":
            ids = [*ids, *fresh]
        else:
            at = ids.index(place) + (position_mark == "afterend")
            ids = [*ids[:at], *fresh, *ids[at:]]
    return ids


def _first(content: str) -> tuple[str, str]:
    heading = ""
    for turn, item in _IDS.findall(content):
        if item:
            return heading, item
        heading = turn
    return heading, ""


EVENTS = st.sampled_from(["turn", "say", "call", "ask", "end", "return", "reply"])


def kinds(words: list[str]) -> list[Any]:
    """Return events of these sorts: calls ask, and end, in any order."""
    kind_list: list[Any] = [TurnStart(), ChatRequest("Begin.")]
    for n, word in enumerate(words):
        call = f"c{n % 3}"
        match word:
            case "turn":
                kind_list += [TurnStart()]
            case "say":
                kind_list += [ChatRequest(f"Say {n}.")]
            case "call":
                kind_list += [make_call(call)]
            case "ask":
                kind_list += [make_inquiry(f"{call}.a.{n}", f"{n}?")]
            case "end":
                kind_list += [make_answer(f"{call}.a.{n - 1}")]
            case "return":
                kind_list += [make_result(call, f"{n}.", is_error=n % 2 == 0)]
            case _:
                kind_list += [ChatResponse("message", f"Reply {n}.")]
    return kind_list


@pytest.mark.parametrize(
    "show", ["", "questions", "tools", *mark_proof("person,assistant", "problems")]
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=choose_size(10, 40),
    deadline=None,
)
@given(words=st.lists(EVENTS, max_size=24), had=st.integers(1, 24), cut=st.integers(0, 8))
@example(words=["call", "call", "call", "ask", "turn", "say", "ask"], had=5, cut=0)
@example(words=["turn", "say", "reply", "turn", "say", "reply"], had=2, cut=0)
def test_page_updates_lead_to_the_html_of_a_reload(
    workspace: Workspace, show: str, words: list[str], had: int, cut: int
):
    all_kinds = kinds(words)
    before, after = all_kinds[:had], all_kinds
    lines_before = load_line_ids(making.mirrored_conversation(workspace, *before), show)
    item_positions = sorted({item_position for item_position, _ in lines_before})
    last = item_positions[-1 - cut] if 0 < cut < len(item_positions) else None
    page = RenderedState(entry_count=len(before), last=last, show=transcript.parse_groups(show))
    ids = [
        line_id for item_position, line_id in lines_before if last is None or item_position <= last
    ]
    conversation = making.mirrored_conversation(workspace, *after)
    expected_ids = [
        line_id
        for item_position, line_id in load_line_ids(conversation, show)
        if last is None or item_position <= last
    ]
    assert apply_update(conversation, page, ids) == expected_ids


#: Two parallel calls, of which the first returns last, and a reply five seconds after that.
PARALLEL_CALLS: list[tuple[str, EventKind]] = [
    ("10:00:00", TurnStart()),
    ("10:00:00", make_call("a")),
    ("10:00:00", make_call("b")),
    ("10:01:00", make_result("b")),
    ("10:30:00", make_result("a")),
    ("10:30:05", ChatResponse("message", "Done.")),
]
CALL_B, REPLY = 2, 5


@pytest.fixture
def parallel_calls(workspace: Workspace) -> Conversation:
    conversation: Conversation = making.conversation(workspace)
    for time, kind in PARALLEL_CALLS:
        journal.append_events(conversation.pk, [making.event(kind, f"2026-01-01 {time}.0")])
    conversation.refresh_from_db()
    return conversation


@pytest.mark.parametrize("query", [{}, {"show": "tools,assistant"}], ids=["all", "filtered"])
@pytest.mark.parametrize("position", [{}, {"after": "1"}, {"after": "2"}, {"at": "5"}])
def test_reply_after_parallel_calls_has_no_gap(
    parallel_calls: Conversation, query: dict[str, str], position: dict[str, str]
):
    choice = TranscriptQuery.from_params(query | position)
    line = transcript.load_page(parallel_calls, choice, read_count=None).lines[-1]
    assert (line.item.first, line.gap) == (REPLY, 0)


@pytest.mark.parametrize("show", ["", "tools,assistant"], ids=["all", "filtered"])
@pytest.mark.parametrize("item_positions", [[REPLY], [CALL_B, REPLY]], ids=["one", "two"])
def test_inserted_reply_after_parallel_calls_has_no_gap(
    parallel_calls: Conversation, show: str, item_positions: list[int]
):
    contents = windows.load_items(parallel_calls.pk, item_positions)
    lines = transcript.build_lines(contents, parallel_calls.entry_count, is_contiguous=False)
    categories = transcript.find_categories(transcript.parse_groups(show))
    placements = (
        insert_targets.place_at_end(parallel_calls, lines)
        if categories is None
        else insert_targets.place_among(parallel_calls, lines, categories)
    )
    assert [placement.line.gap for placement in placements] == [0] * len(lines)


def test_window_first_line_has_the_gap_since_the_latest_event(parallel_calls: Conversation):
    request = making.event(ChatRequest("More."), "2026-01-01 11:30:05.0")
    journal.append_events(parallel_calls.pk, [request])
    parallel_calls.refresh_from_db()
    for query in ({"after": str(REPLY)}, {"after": "2", "show": "tools,person"}):
        choice = TranscriptQuery.from_params(query)
        lines = transcript.load_page(parallel_calls, choice, read_count=None).lines
        assert lines[-1].gap == (3600 if "show" not in query else 3605)
