"""However a conversation grows, a page that is told of it shows what one shows that is loaded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jpweb.store.models import Conversation, Workspace
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.web import transcript
from jpweb.web.transcript import TranscriptQuery
from jpweb.web.websocket import conversation_updates
from jpweb.web.websocket.conversation_updates import RenderedState
from tests.builders import answered, asked, called, returned
from tests.machine.sizes import choose_size
from tests.store import making

pytestmark = pytest.mark.django_db

_PUT = re.compile(r'<div hx-swap-oob="(beforeend|beforebegin|afterend):#([\w-]+)">')
#: The heading of a turn, and an item that stands for itself.
_IDS = re.compile(r'<h2 class="turn-head" id="([^"]+)"|id="([^"]+)" data-kind=')
Ids = list[str]


@pytest.fixture
def home() -> Workspace:
    return making.workspace()


def ids_of(lines: list[transcript.TranscriptLine]) -> list[tuple[int, str]]:
    """Return the ids of headings and items as they stand, each with the position of its item."""
    found: list[tuple[int, str]] = []
    for line in lines:
        item_position = line.item.first
        if line.turn and not line.is_continued:
            found.append((item_position, f"turn-{line.turn.number}"))
        found.append((item_position, line.item.elements[0].anchor))
    return found


def loaded(talk: Conversation, show: str) -> list[tuple[int, str]]:
    """Return what a page shows that is loaded now."""
    choice = TranscriptQuery.from_params({"show": show})
    return ids_of(transcript.load_page(talk, choice, read_count=None).lines)


def told(talk: Conversation, page: RenderedState, ids: Ids) -> Ids:
    """Return what a page shows once it has put what it is told where it is told."""
    html = conversation_updates._ConversationSnapshot(talk).get_update(page, may_run=False).html
    parts = _PUT.split(html)
    for how, place, content in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        heading, item = _first(content)
        fresh = [each for each in (heading, item) if each and each not in ids]
        if how == "beforeend":
            ids = [*ids, *fresh]
        else:
            at = ids.index(place) + (how == "afterend")
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
    made: list[Any] = [TurnStart(), ChatRequest("Begin.")]
    for n, word in enumerate(words):
        call = f"c{n % 3}"
        match word:
            case "turn":
                made += [TurnStart()]
            case "say":
                made += [ChatRequest(f"Say {n}.")]
            case "call":
                made += [called(call)]
            case "ask":
                made += [asked(f"{call}.a.{n}", f"{n}?")]
            case "end":
                made += [answered(f"{call}.a.{n - 1}")]
            case "return":
                made += [returned(call, f"{n}.", is_error=n % 2 == 0)]
            case _:
                made += [ChatResponse("message", f"Reply {n}.")]
    return made


@pytest.mark.parametrize("show", ["", "questions", "person,assistant", "problems", "tools"])
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=choose_size(10, 40),
    deadline=None,
)
@given(words=st.lists(EVENTS, max_size=24), had=st.integers(1, 24), cut=st.integers(0, 8))
@example(words=["call", "call", "call", "ask", "turn", "say", "ask"], had=5, cut=0)
@example(words=["turn", "say", "reply", "turn", "say", "reply"], had=2, cut=0)
def test_what_is_told_leads_to_what_is_loaded(
    home: Workspace, show: str, words: list[str], had: int, cut: int
):
    every = kinds(words)
    before, after = every[:had], every
    shown = loaded(making.mirrored(home, *before), show)
    item_positions = sorted({item_position for item_position, _ in shown})
    last = item_positions[-1 - cut] if 0 < cut < len(item_positions) else None
    page = RenderedState(entry_count=len(before), last=last, show=transcript.parse_groups(show))
    ids = [each for item_position, each in shown if last is None or item_position <= last]
    talk = making.mirrored(home, *after)
    wanted = [
        each for item_position, each in loaded(talk, show) if last is None or item_position <= last
    ]
    assert told(talk, page, ids) == wanted
