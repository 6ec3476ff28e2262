"""A conversation as Markdown: JP's lines, and nothing hostile gets out of its place."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.stream import wire
from jpweb.stream.answer_type import Text
from jpweb.stream.events import ChatRequest, ChatResponse, ConfigDelta, TurnStart
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
    UnknownReason,
)
from jpweb.stream.markdown.export import (
    OMISSION_LABELS,
    ApprovalDecision,
    MarkdownOptions,
    MarkdownWriter,
    format_outcome,
)
from jpweb.stream.outline import build_outline
from tests.builders import (
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.stream import strategies
from tests.stream.markdown.whole_export import export_markdown

FULL = MarkdownOptions(title="Title", reasoning=True)
PLAIN = MarkdownOptions(turns=False, arguments=False, results=False)


WHOLE = """# Title

## Turn 1

### Jean \\*M\\*

> Hi
>
> there

### Tool call `fs`

```json
{
  "a": 1
}
```

#### Question, attempt 1

> Sure?

Answer: false

Answered No, 2026-01-02 03:00:04 UTC, after 1.0 s.

#### Question, attempt 2

> Sure?

Answer: true

Answered Yes, 2026-01-02 03:00:06 UTC, after 1.0 s.

#### Result

```
Done.
```

### Reasoning

> Hm.

### Assistant

> Hello

## Turn 2 (incomplete)

Omitted: 2 turn starts.
"""


def lines(*kinds, options=None) -> Any:
    return export_markdown(build_outline(stream(*kinds)), options).split("\n")


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Answered(True), "Answer: true"),
        (Answered("a\nb"), r'Answer: "a\nb"'),
        (Answered({"é": [1, None]}), 'Answer: {"é": [1, null]}'),
        (Redacted(), "Answer: <redacted>"),
        *((Cancelled(reason), f"Cancelled ({reason.value})") for reason in CancellationReason),
        (Cancelled(UnknownReason("some_future_variant")), "Cancelled (some_future_variant)"),
        (Cancelled(UnknownReason("Any/thing *odd*")), "Cancelled (Any/thing *odd*)"),
        (Cancelled(UnknownReason("a\n# b\u2028")), "Cancelled (a\\n# b\\u2028)"),
    ],
)
def test_the_lines_of_outcomes_are_those_of_the_rfd(outcome, line):
    assert format_outcome(outcome) == line
    kinds = (ChatRequest("Hi"), make_call("c"), make_inquiry("q"), InquiryResponse("q", outcome))
    assert line in lines(*kinds)
    assert line in lines(InquiryResponse("q", outcome))


def test_a_conversation_reads_from_top_to_bottom():
    kinds = (
        *(TurnStart(), ChatRequest("Hi\n\nthere", author="Jean *M*"), make_call("c", "fs", a=1)),
        *(
            make_inquiry("c.q.1", "Sure?"),
            make_answer("c.q.1", False),
            make_inquiry("c.q.2", "Sure?"),
        ),
        *(make_answer("c.q.2"), make_result("c", "Done.")),
        *(ChatResponse("reasoning", "Hm."), ChatResponse("message", "Hello"), TurnStart()),
    )
    assert export_markdown(build_outline(stream(*kinds)), FULL) == WHOLE


def test_export_markdown_counts_omitted_events():
    kinds = (
        *(
            TurnStart(),
            ChatRequest("Hi"),
            ConfigDelta({}),
            make_call("c"),
            make_result("c", "secret"),
        ),
        *(ChatResponse("reasoning", "secret"), ChatResponse("message", "Hello")),
    )
    export_lines = lines(*kinds, options=PLAIN)
    assert (
        "Omitted: 1 set of arguments, 1 configuration change, 1 reasoning block, 1 result, "
        "1 turn start." in export_lines
    )
    assert not any("secret" in line or line.startswith("## ") for line in export_lines)
    assert not any(line.startswith("Omitted") for line in lines(ChatRequest("Hi")))


def test_export_markdown_counts_a_kind_without_label_by_its_tag(monkeypatch: pytest.MonkeyPatch):
    labels = {tag: label for tag, label in OMISSION_LABELS.items() if tag != "config_delta"}
    monkeypatch.setattr("jpweb.stream.markdown.export.OMISSION_LABELS", labels)
    export_lines = lines(TurnStart(), ConfigDelta({}), ConfigDelta({}), options=PLAIN)
    assert "Omitted: 1 turn start, 2 config_delta events." in export_lines


def test_export_markdown_has_a_place_for_every_event():
    question = InquiryQuestion("Name?", Text(), context="Because.")
    kinds = (
        *(
            ChatRequest("Hi"),
            make_call("c", ""),
            make_inquiry("c.q.1"),
            make_result("c", "bad", is_error=True),
        ),
        *(
            InquiryRequest("stray", InquirySource.for_tool("x"), question),
            make_result("x", "alone"),
        ),
        *(
            make_answer("none"),
            ChatResponse("data", {"a": 1}),
            raw({"type": "weather"}),
            make_call("d"),
        ),
        *(raw({"type": "chat_request"}), make_inquiry("d.q.1")),
    )
    export_lines = lines(*kinds)
    for line in (
        *("### User", "### Tool call (no name)", "Unanswered", "#### Error", "### Question"),
        *("> Name?", "> Because.", "### Result without a call", "### Outcome without a question"),
        *(
            '  "a": 1',
            "### Unknown type: `weather`",
            "### Unreadable: `chat_request`",
            "No answer yet",
        ),
    ):
        assert line in export_lines


hostile = st.text(
    st.sampled_from([*"`~#>- \t\n\r*_[]()<!", "\\", "a", "\u2028", "\x85"]), max_size=40
)


@given(hostile)
@settings(deadline=None)
def test_export_markdown_escapes_fences_quotes_and_lines(text):
    kinds = (
        ChatRequest(text, author=text),
        make_call("c", text, a=text),
        make_inquiry("c.q.1", text),
        InquiryResponse("c.q.1", Cancelled(UnknownReason(text))),
        make_result("c", text),
        ChatResponse("message", text),
        raw({"type": text, "text": text}),
    )
    markdown = export_markdown(
        build_outline([raw_or(kind) for kind in kinds]), MarkdownOptions(title=text)
    )
    outside_lines = unfenced(re.split(r"\r\n|\r|\n", markdown))
    assert sum(line.startswith("#") for line in outside_lines) == 7 + bool(text)
    for line in outside_lines:
        assert re.match(r"#|>|Cancelled \(|\d{4}-\d\d-|Omitted: |$", line)


def raw_or(kind) -> Any:
    return kind if hasattr(kind, "raw") else make_element(kind)


def unfenced(lines) -> list[str]:
    """What is outside fences, as CommonMark closes them."""
    fence, outside_lines = "", []
    for line in lines:
        marks = re.match(r" {0,3}(`{3,})[ \t]*$", line)
        if fence:
            fence = "" if marks and len(marks[1]) >= len(fence) else fence
        elif match := re.match(r"(`{3,})(json)?$", line):
            fence = match[1]
        else:
            outside_lines.append(line)
    assert not fence
    return outside_lines


@given(strategies.streams)
@settings(deadline=None)
def test_export_markdown_accepts_any_stream(elements):
    for options in (None, FULL, PLAIN):
        assert export_markdown(build_outline(elements), options).endswith("\n")


def write_settled(outcome: InquiryOutcome, **note: Any) -> list[str]:
    """Return the lines below the question of a stream in which it was settled with this note."""
    request, response = stream(make_inquiry("c.q.1"), InquiryResponse("c.q.1", outcome))
    body = replace(response.events[0], metadata={"jpweb": note})
    outline = build_outline([request, wire.write_element(body)])
    return export_markdown(outline, PLAIN).partition("Apply the changes?")[2].split("\n\n")[1:]


@pytest.mark.parametrize(
    ("by", "decider"),
    [
        ({"kind": "person", "name": "Ada", "id": 1}, "by Ada, "),
        ({"kind": "configuration"}, "by configured value, "),
        ({"kind": "assistant", "name": "gpt"}, r"by second model \(gpt\), "),
        ({"name": "Ada"}, "by Ada, "),
        ({"kind": "", "name": 3}, ""),
        ({"kind": "person", "name": "*A*\n# B"}, r"by \*A\* \# B, "),
        ({"kind": 3}, ""),
        ("Ada", ""),
        (None, ""),
    ],
)
@pytest.mark.parametrize(
    ("answer", "line", "beginning"),
    [(True, "true", "Answered Yes"), (False, "false", "Answered No"), ("red", '"red"', "")],
)
def test_a_settled_question_has_who_settled_it_when_and_after_how_long(
    by: Any, decider: str, answer: Any, line: str, beginning: str
):
    between = beginning and (" " if decider else ", ")
    words = f"{beginning}{between}{decider}2026-01-02 03:00:01 UTC, after 1.0 s.\n"
    assert write_settled(Answered(answer), by=by) == [
        f"Answer: {line}",
        words[0].upper() + words[1:],
    ]


def test_a_declined_question_has_the_words_of_the_decline():
    cancelled = Cancelled(CancellationReason.USER)
    assert write_settled(cancelled, by={"kind": "person", "name": "Ada"}, note="Not\n# now") == [
        "Cancelled (user)",
        "Declined or stopped by Ada, 2026-01-02 03:00:01 UTC, after 1.0 s:",
        "> Not\n> # now\n",
    ]


def test_a_cancelled_question_has_the_words_of_its_reason():
    assert write_settled(Cancelled(CancellationReason.EXPIRED))[1:] == [
        "Expired before an answer, 2026-01-02 03:00:01 UTC, after 1.0 s.\n"
    ]


@pytest.mark.parametrize(
    ("channel", "end"),
    [("link", ", by an answer link."), ("pigeon", "."), (3, "."), ([], ".")],
)
def test_a_settled_question_has_the_way_of_its_answer(channel: Any, end: str):
    _, line = write_settled(Answered("red"), by={"kind": "person", "name": "Ada"}, channel=channel)
    assert line == f"By Ada, 2026-01-02 03:00:01 UTC, after 1.0 s{end}\n"


def test_decisions_stand_around_the_call_and_its_result():
    asked_at = datetime(2026, 1, 2, 3, tzinfo=UTC)
    settled_at = asked_at + timedelta(seconds=5)
    allowed = ApprovalDecision(
        "run",
        is_allowed=True,
        is_edited=True,
        is_for_turn=True,
        decider="Ada *M*",
        asked_at=asked_at,
        settled_at=settled_at,
        words="",
    )
    withheld = allowed._replace(
        kind="deliver", is_allowed=False, is_edited=False, is_for_turn=False, words="# Too much"
    )
    withdrawn = withheld._replace(kind="run", decider="jpweb", words="", is_withdrawn=True)
    outline = build_outline(stream(make_call("c1"), make_result("c1")))
    (item,) = outline.turns[0].items
    decisions = [withheld, allowed, withdrawn]
    blocks = list(MarkdownWriter(MarkdownOptions()).write_item(item, decisions))
    moment = "2026-01-02 03:00:05 UTC, after 5.0 s"
    allowed_line = f"Allowed, edited, for this turn by Ada \\*M\\*, {moment}."
    assert blocks.index(allowed_line) == 2, "below the arguments"
    assert blocks[3] == f"Withdrawn by jpweb, {moment}."
    assert blocks[-2:] == [
        f"Result not sent to the model by Ada \\*M\\*, {moment}:",
        "> # Too much",
    ]
