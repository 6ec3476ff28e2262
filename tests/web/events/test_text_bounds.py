"""What one long text of a stream costs a page: each string of each kind of event, at 400 kB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.store import approvals
from jpweb.store.models import Approval, Conversation, Inquiry, JournalEntry
from jpweb.stream.answer_type import Option, Select, Text
from jpweb.stream.events import ChatRequest, TurnStart
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from jpweb.web.templatetags import jpweb_questions
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result, raw
from tests.machine.sizes import IS_PROOF, choose_size, mark_proof
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

FOLDER = Path(__file__).parents[2] / "samples" / "events"
SAMPLES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
BY = {"kind": "person", "name": "Ada"}
POLICY = {"policy": "remembered", "allow": True, "by": BY, "setting": "run", "file": "config.toml"}
#: What jpweb notes in events, by the sample that has it.
NOTES: dict[str, dict[str, Any]] = {
    "inquiry_request.text": {"label": "Apply", "question_id": "apply"},
    "inquiry_response.answered": {"by": BY, "channel": "link", "note": "Why not"},
    "inquiry_response.cancelled.user": {"by": BY, "channel": "link", "note": "Because"},
    "tool_call_response": {"permission": POLICY, "delivery": POLICY | {"policy": "unattended"}},
}
CALL, QUESTION = "toolu_01A", "toolu_01A.apply_changes.1"
#: Samples whose strings have the places of another's.
SAME_SHAPES = sorted(
    name
    for name in SAMPLES
    if name in ("config_delta.flattened", "inquiry_request.secret", "tool_call_response.error")
    or (name.startswith("inquiry_response.") and not name.endswith((".user", ".answered")))
)
#: A text that is shown from right to left.
TURNED = "\u202eelif_daer"
LONG_TEXT = TURNED + "x" * 400_000
MAX_PAGE_CHARS = 300_000
TIMELINE = "/audit/decisions?view=timeline"
LISTS = ("/", "/conversations", "/questions", "/audit", "/audit/decisions", TIMELINE)
#: A sample of each kind of which lists show texts.
LISTED_SAMPLES = (
    "chat_request.author", "inquiry_request.boolean", "inquiry_response.answered",
    "tool_call_request", "tool_call_response",
)  # fmt: skip
#: The column among those that a query returns.
WHOLE_QUESTION = f', "{Inquiry.TABLE}"."question",'
#: Values of filters, which no person sees.
_VALUE = re.compile(r' value="[^"]*"')


def add_note(name: str, sample: dict[str, Any]) -> dict[str, Any]:
    if name not in NOTES:
        return sample
    return sample | {"metadata": {**sample.get("metadata", {}), "jpweb": NOTES[name]}}


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of the strings of a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from list_paths(part, (*path, key))


def lengthen(value: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy of a JSON value with a long text in one place."""
    changed_value = deepcopy(value)
    place = changed_value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = LONG_TEXT
    return changed_value


def make_conversation(world: World, name: str, sample: Any) -> Conversation:
    """Return a conversation with the sample where events of its kind are."""
    event = raw(sample)
    call, result = make_call(CALL, path="a.txt"), make_result(CALL)
    kinds = {
        "tool_call_request": (event, result),
        "tool_call_response": (call, event),
        "inquiry_request": (call, event, make_answer(QUESTION), result),
        "inquiry_response": (call, make_inquiry(QUESTION), event, result),
    }.get(name.partition(".")[0], (event,))
    return making.mirrored_conversation(world.workspace, TurnStart(), *kinds)


def read_response_anchor(row: Inquiry) -> str:
    entries = JournalEntry.objects.filter(conversation_id=row.conversation_id)
    row.refresh_from_db()
    return entries.get(position=row.response_position or 0).anchor


def check_page(
    client: Client, address: str, *details: Any, max_chars: int = MAX_PAGE_CHARS
) -> None:
    response = client.get(address)
    page = response.content.decode()
    char_count, is_revealed = len(page), "\u202e" not in _VALUE.sub("", page)
    assert response.status_code == 200
    assert (char_count < max_chars, is_revealed) == (True, True), (
        address,
        char_count,
        *details,
    )


@pytest.mark.parametrize("name", [*sorted({*SAMPLES} - {*SAME_SHAPES}), *mark_proof(*SAME_SHAPES)])
def test_each_long_string_of_an_event_is_cut_and_revealed(world: World, name: str):
    client = world.client("owner")
    sample = add_note(name, SAMPLES[name])
    for path in list_paths(sample):
        conversation = make_conversation(world, name, lengthen(sample, path))
        check_page(client, f"/conversations/{conversation.pk}", path)
    if IS_PROOF or name in LISTED_SAMPLES:
        for address in LISTS:
            check_page(client, address)


def test_options_are_listed_up_to_a_bound_with_a_link_to_all(world: World):
    count = choose_size(2_000, 40_000)
    options = tuple(Option(f"bed {number}", TURNED) for number in range(count))
    question = make_inquiry(QUESTION, type=Select(options))
    conversation = make_conversation(
        world, "inquiry_request", json.loads(make_element(question).raw)
    )
    row = Inquiry.objects.get(conversation=conversation)
    for address in (f"/conversations/{conversation.pk}", f"/questions/{row.pk}"):
        check_page(world.client("owner"), address)
        page = parse_page(world.client("owner").get(address))
        assert "bed 99" in page.text
        assert "bed 100" not in page.text
        assert f"and {count - 100:,} more." in page.text
        assert page.find_all(href=f"/conversations/{conversation.pk}/events/{row.anchor}")


def test_options_share_a_bound_of_their_characters():
    assert jpweb_questions.option_list([Option("x" * 500)] * 100, 1, "e-1")["more_count"] == 76
    assert jpweb_questions.option_list([Option("x")] * 100, 1, "e-1")["more_count"] == 0


def test_an_expected_format_is_cut_with_a_link_to_all(world: World):
    schema = {f"key {number} {TURNED}": 1 for number in range(10_000)}
    conversation = making.mirrored_conversation(
        world.workspace, TurnStart(), ChatRequest("Plan", schema=schema)
    )
    check_page(world.client("owner"), f"/conversations/{conversation.pk}")
    text = parse_page(world.client("owner").get(f"/conversations/{conversation.pk}")).text
    assert re.search(r"Truncated \(total: \d{1,3}(,\d{3})+ characters\)", text)


def test_pages_with_many_long_answers_and_reasons_stay_small(world: World):
    person = world.people["owner"]
    decider = making.decider(person)
    refusal = {"allow": False, "remember": False, "reason": LONG_TEXT}  # as earlier versions kept
    rows = [making.question(world.run, Text()) for _ in range(choose_size(4, 30))]
    for row in rows:
        making.settle(row, Answered(LONG_TEXT), decider, note=LONG_TEXT)
        approvals.decide_approval(making.prompt(world.run).pk, refusal, decider)
    conversation_page = f"/conversations/{world.conversation.pk}"
    for address in (*LISTS, conversation_page, f"/questions/{rows[0].pk}", "/audit/ledger"):
        check_page(world.client("owner"), address, max_chars=1_000_000)
    link = parse_page(world.client("owner").get(conversation_page)).find_all(
        href=f"{conversation_page}/events/{read_response_anchor(rows[0])}"
    )
    assert [tag.text for tag in link] == ["Show all"]


@pytest.mark.parametrize("has_answer", [True, False], ids=["answer", "reason"])
def test_settled_card_shows_the_beginning_of_a_long_text(world: World, has_answer: bool):
    decider = making.decider(world.people["owner"])
    row: Inquiry | Approval
    if has_answer:
        row = making.settle(making.question(world.run, Text()), Answered(LONG_TEXT), decider)
    else:
        refusal = {"allow": False, "remember": False, "reason": LONG_TEXT}
        row = approvals.decide_approval(making.prompt(world.run).pk, refusal, decider)
    template = "questions/_settled.html" if has_answer else "approvals/_settled.html"
    html = render_to_string(template, {"row": row, "oob": True})
    assert len(html) < 4_000
    assert "⟨U+202E⟩elif_daer" in html


def test_reviewers_lists_read_the_texts_of_questions_alone(world: World):
    making.settle(making.question(world.run), Cancelled(CancellationReason.USER))
    client = world.client("owner")
    lists = ("", "/decisions", "/decisions.csv", "/decisions?view=timeline", "/reviews/cancelled")
    for address in lists:
        with CaptureQueriesContext(connection) as captured:
            response = client.get(f"/audit{address}")
            body = response.getvalue() if response.streaming else response.content
        assert b"Go on?" in body, address
        assert [sql for each in captured if WHOLE_QUESTION in (sql := each["sql"])] == [], address
