"""What the one line of a closed fold says: the answer, who gave it, when, how long, what failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.store import approvals
from jpweb.store.choices import ApprovalKind, Role
from jpweb.store.models import Conversation
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, Redacted
from jpweb.web.templatetags.jpweb_outline import MAX_HINT_CHARS, error_hint
from tests.builders import make_answer, make_call, make_element, make_inquiry, make_result
from tests.store import making
from tests.store.transcript.test_windows import mirror_conversation
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db
ADA = {"jpweb": {"by": {"kind": "person", "name": "Ada"}}}


def open_page(conversation: Conversation, path: str = "") -> ParsedPage:
    client = signed_in(making.person("", Role.READER, conversation.workspace))
    return parse_page(client.get(f"/conversations/{conversation.pk}{path}"))


def read_line(tag: Tag) -> str:
    return " ".join(tag.text.split())


def read_summaries(page: ParsedPage, kind: str) -> list[str]:
    """Return the lines of the folds of a kind, as a reader's machine reads them."""
    folds = page.find_all(**{"data-kind": kind})
    return [
        read_line(next(tag for tag in page if tag.tag == "summary" and tag.parents[-1] is fold))
        for fold in folds
    ]


def ask(response: Any, **question: Any) -> Conversation:
    """Mirror a call that asks at 03:04:05 and is told eleven seconds and a half later."""
    outcome = make_element(response, at="2026-01-02 03:04:16.5", metadata=ADA)
    return mirror_conversation(
        TurnStart(),
        make_element(make_call("a", "plant", tree="oak")),
        make_element(make_inquiry("a.q", **question)),
        outcome,
        make_element(make_result("a"), at="2026-01-02 03:04:17.0"),
    )


@pytest.mark.parametrize(
    ("response", "question", "expected"),
    [
        (make_answer("a.q"), {}, "✓ Answered: Yes Ada · 11.5 s"),
        (make_answer("a.q", False), {}, "✓ Answered: No Ada · 11.5 s"),
        (make_answer("a.q", "red\nand blue"), {"type": Text()}, "✓ Answered: red Ada · 11.5 s"),
        (InquiryResponse("a.q", Redacted()), {"type": Secret()}, "■ Redacted Ada · 11.5 s"),
        (
            InquiryResponse("a.q", Cancelled(CancellationReason.USER)),
            {},
            "⊘ Cancelled (declined or stopped) Ada · 11.5 s",
        ),
    ],
)
def test_row_and_outline_show_answer_person_and_waiting_time(
    response: Any, question: dict[str, Any], expected: str
):
    conversation = ask(response, **question)
    page = open_page(conversation)
    (call,) = read_summaries(page, "tool_call_request")
    assert call == f"Tool plant tree=oak {expected} 03:04:05 · 12.0 s"
    (inquiry,) = read_summaries(page, "inquiry_request")
    assert inquiry.startswith(expected)
    assert expected in read_line(page.find_one(id="outline"))


def test_row_of_a_question_that_a_reply_interrupted_has_the_reply():
    outcome = InquiryResponse("a.q", Cancelled(CancellationReason.USER))
    note = ADA["jpweb"] | {"replied": True, "note": "Leave <it>\nas it is"}
    conversation = mirror_conversation(
        TurnStart(),
        make_call("a", "plant"),
        make_inquiry("a.q"),
        make_element(outcome, metadata={"jpweb": note}),
        make_result("a"),
    )
    page = open_page(conversation)
    for kind in ("tool_call_request", "inquiry_request"):
        (line,) = read_summaries(page, kind)
        assert "Interrupted with a reply: Leave <it> Ada" in line
    (fold,) = [tag for tag in page if tag.get("data-kind") == "inquiry_response"]
    assert "Reply: Leave <it>" in read_line(fold)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ApprovalKind.RUN, "Waiting for approval"),
        (ApprovalKind.DELIVER, "Result needs review"),
        (None, "No result yet"),
    ],
)
def test_call_row_without_result_shows_the_pending_item(kind: ApprovalKind | None, text: str):
    """A page without scripts says it too, and that of a reader, who has no cards."""
    conversation = making.conversation(making.workspace())
    making.start_run(conversation)
    assert "No result yet" in read_summaries(open_page(conversation), "tool_call_request")[0]
    row = None
    if kind:
        subject = {"arguments": {}, "content": "Done.", "described": "vault", "edit": False}
        row = approvals.request_approval(conversation.pk, kind, "call_1", "vault", subject)
    (line,) = read_summaries(open_page(conversation), "tool_call_request")
    assert text in line
    if row:
        approvals.withdraw_approval(row.pk)
        (line,) = read_summaries(open_page(conversation), "tool_call_request")
        assert "No result yet" in line


def test_the_answer_in_the_fold_is_the_word_that_was_clicked():
    page = open_page(ask(make_answer("a.q")))
    (answer,) = [tag for tag in page if "data-answer" in tag]
    assert answer.text == "Yes"


def test_an_answer_cannot_write_markup_or_hide_in_a_row():
    conversation = ask(make_answer("a.q", "<b>\u202ex</b>" + "y" * 500), type=Text())
    (line,) = read_summaries(open_page(conversation), "inquiry_request")
    assert "<b>⟨" in line
    assert "y" * 100 not in line


def test_the_turn_has_its_date_and_events_their_time_of_day():
    page = open_page(mirror_conversation(TurnStart(), make_element(ChatRequest("Hello"))))
    heading = next(tag for tag in page if "turn-head" in tag.get("class", ""))
    assert read_line(heading) == "Turn 1 2 Jan 2026"
    message = page.find_one(**{"data-kind": "chat_request"})
    times = [tag for tag in page if tag.tag == "time" and message in tag.parents]
    assert [(tag.text, tag["title"]) for tag in times] == [("03:04:05", "2026-01-02 03:04:05 UTC")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("E0432: unresolved import\n --> src/lib.rs", "E0432: unresolved import"),
        ('{"message": "Cargo failed:\\nerror", "code": 1}', "Cargo failed:"),
        ('{"code": 1, "error": "no such file"}', "no such file"),
        ('{"code": 1}', ""),
        ("\n \n", ""),
        ("x" * 500, "x" * MAX_HINT_CHARS + "…"),
        ("[" * 5_000 + "]", "[" * MAX_HINT_CHARS + "…"),
    ],
)
def test_error_hint_is_the_first_line_of_the_message(content: str, expected: str):
    assert error_hint(content) == expected


def test_failed_call_row_shows_the_error():
    failed = make_result("a", "E0432: <unresolved>", is_error=True)
    conversation = mirror_conversation(TurnStart(), make_call("a", "cargo"), failed)
    (line,) = read_summaries(open_page(conversation), "tool_call_request")
    assert "✕ Error: E0432: <unresolved>" in line


def test_a_result_in_json_shows_its_texts_with_real_line_breaks():
    content = json.dumps({"message": "first\nsecond", "code": 1})
    page = open_page(mirror_conversation(make_call("a"), make_result("a", content, is_error=True)))
    texts = [tag.text for tag in page if tag.tag == "pre"]
    assert "first\nsecond" in texts
    assert not any("\\n" in text for text in texts)


def test_reasoning_without_text_is_a_line_and_no_empty_fold():
    conversation = mirror_conversation(TurnStart(), ChatResponse("reasoning", ""))
    page = open_page(conversation)
    (row,) = page.find_all(**{"data-variant": "reasoning"})
    assert row.tag == "p"
    assert "hidden by the provider" in read_line(row)


def list_runs(page: ParsedPage) -> list[tuple[bool, str]]:
    """Return the groups of calls: whether each is open, and the text of its row."""
    runs = [tag for tag in page if tag.get("class") == "fold call-group"]
    rows = [
        next(tag for tag in page if tag.tag == "summary" and run in tag.parents) for run in runs
    ]
    return [
        ("open" in run, " ".join(row.text.split()[:-1]))
        for run, row in zip(runs, rows, strict=True)
    ]


def test_successive_calls_without_question_or_problem_are_one_row():
    workspace = making.workspace()
    names = ["fs_read", "fs_grep", "fs_read"]
    plain = [
        kind
        for number, name in enumerate(names * 2)
        for kind in (make_call(f"c{number}", name), make_result(f"c{number}"))
    ]
    asked = [make_call("q"), make_inquiry("q.one"), make_result("q")]
    failed = [make_call("f"), make_result("f", is_error=True)]
    conversation = making.mirrored_conversation(
        workspace, TurnStart(), ChatRequest("Go"), *plain[:6], *asked, *plain[6:], *failed
    )
    page = open_page(conversation)
    row = "Tools 3 calls 2 \N{MULTIPLICATION SIGN} fs_read, 1 \N{MULTIPLICATION SIGN} fs_grep"
    assert list_runs(page) == [(False, row), (False, row)]
    second = [tag for tag in page if tag.get("data-tool") == "fs_grep"][1]["id"]
    page = open_page(conversation, f"?at={second}")
    assert [is_open for is_open, _ in list_runs(page)] == [False, True]
    assert list_runs(open_page(conversation, "?show=tools")) == []


def test_calls_are_not_grouped_below_three_with_results():
    workspace = making.workspace()
    kinds = [make_call("a"), make_result("a"), make_call("b"), make_result("b"), make_call("c")]
    conversation = making.mirrored_conversation(workspace, TurnStart(), ChatRequest("Go"), *kinds)
    assert list_runs(open_page(conversation)) == []
