"""The demo workspace shows everything there is; what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from jpweb.stream import outline, timestamps, wire
from jpweb.stream.answer_type import ANSWER_TYPES
from jpweb.stream.events import KINDS, BrokenEvent, ConversationEvent, ResponseVariant, UnknownEvent
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryRequest,
    SourceTag,
    UnknownReason,
)
from jpweb.stream.transcript.items import InquiryState

ROOT = Path(__file__).parents[2] / "jpweb" / "store" / "jp_files" / "demo" / ".jp"
FOLDERS = sorted(path.parent for path in ROOT.rglob("events.json"))
WHO = {"person", "configuration", "memory", "assistant", "system"}

each_conversation = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def elements(folder) -> Any:
    return [
        wire.read_element(text) for text in wire.split_array((folder / "events.json").read_bytes())
    ]


def load(path) -> Any:
    return json.loads(path.read_text())


ALL = [element for folder in FOLDERS for element in elements(folder)]
KINDS_SHOWN = [element.kind for element in ALL if element.kind]
INQUIRIES = [
    pair for folder in FOLDERS for pair in outline.build_outline(elements(folder)).list_inquiries()
]
OUTCOMES = [inquiry.outcome for inquiry, _ in INQUIRIES if inquiry.outcome]
REASONS = [outcome.reason for outcome in OUTCOMES if isinstance(outcome, Cancelled)]


@pytest.mark.parametrize(
    ("name", "expected", "actual"),
    [
        ("event kinds", set(KINDS), {kind.TAG for kind in KINDS_SHOWN}),
        (
            "variants of chat_response",
            set(get_args(ResponseVariant)),
            {getattr(kind, "variant", None) for kind in KINDS_SHOWN},
        ),
        (
            "answer types",
            set(ANSWER_TYPES),
            {inquiry.inquiry_request.question.answer_type.TAG for inquiry, _ in INQUIRIES},
        ),
        (
            "sources",
            set(SourceTag),
            {inquiry.inquiry_request.source.tag for inquiry, _ in INQUIRIES},
        ),
        (
            "outcomes",
            {outcome.TAG for outcome in get_args(InquiryOutcome)},
            {outcome.TAG for outcome in OUTCOMES},
        ),
        ("reasons", set(CancellationReason), set(REASONS)),
        (
            "states",
            set(get_args(InquiryState)) - {"open"},  # a demo waits for nobody
            {inquiry.state for inquiry, _ in INQUIRIES},
        ),
        (
            "answerers",
            WHO,
            {
                element.body.metadata.get("jpweb", {}).get("by", {}).get("kind")
                for element in ALL
                if isinstance(element.body, ConversationEvent)
            },
        ),
    ],
)
def test_demo_has_every_kind_reason_and_answer_type(name, expected, actual):
    missing_names = sorted(map(str, expected - actual))
    assert not missing_names, (
        f"the demo (jpweb/store/jp_files/demo) lacks {name}: {', '.join(missing_names)}"
    )


def test_the_demo_shows_a_reason_of_another_version():
    assert any(isinstance(reason, UnknownReason) for reason in REASONS)


def test_demo_has_one_unknown_and_one_broken_element():
    odd = [element for element in ALL if element.kind is None]
    assert [(type(element.body), element.tag) for element in odd] == [
        (UnknownEvent, "weather_report"),
        (BrokenEvent, "chat_response"),
    ]


def test_a_question_is_asked_three_times():
    ids = {inquiry.inquiry_request.id for inquiry, _ in INQUIRIES}
    assert any({f"{inquiry_id[:-1]}{n}" for n in (1, 2, 3)} <= ids for inquiry_id in ids)


def test_inquiries_of_parallel_calls_overlap():
    spans = [
        (call.first, inquiry.request.position, inquiry.elements[-1].position)
        for inquiry, call in outline.build_outline(elements(folder_of("release"))).list_inquiries()
        if call
    ]
    assert any(a[0] != b[0] and a[1] < b[1] < a[2] for a in spans for b in spans)


def folder_of(word) -> Any:
    (match,) = [folder for folder in FOLDERS if word in folder.name]
    return match


def test_demo_legacy_questions_with_one_id_have_separate_answers():
    inquiries = outline.build_outline(elements(folder_of("old-and-odd"))).list_inquiries()
    legacy = [
        inquiry for inquiry, _ in inquiries if inquiry.inquiry_request.id.endswith(".apply_changes")
    ]
    assert len(legacy) == 2
    assert [getattr(inquiry.outcome, "answer", None) for inquiry in legacy] == [False, True]
    assert not any(
        '"outcome"' in inquiry.response.element.raw for inquiry in legacy if inquiry.response
    )


def test_questions_have_contexts_descriptions_defaults_and_diffs():
    questions = [kind.question for kind in KINDS_SHOWN if isinstance(kind, InquiryRequest)]
    assert any(question.context for question in questions)
    assert any(question.default is not None for question in questions)
    assert any("```diff\n" in question.text for question in questions)
    options = [
        option for question in questions for option in getattr(question.answer_type, "options", ())
    ]
    assert any(option.description for option in options)
    assert any(not isinstance(option.value, str) for option in options)


def test_secrets_are_nowhere():
    secret = [i for i, _ in INQUIRIES if i.inquiry_request.question.answer_type.TAG == "secret"]
    assert {inquiry.state for inquiry in secret} == {"redacted", "cancelled"}


@each_conversation
def test_a_conversation_is_written_as_jp_writes_it(folder):
    data = (folder / "events.json").read_bytes()
    element_list = elements(folder)
    assert wire.join_array([element.raw for element in element_list]).encode() == data
    for element in element_list:
        stored = json.loads(element.raw)
        assert {"timestamp", "type"} <= stored.keys()  # or JP would trash the folder
        if element.kind and "outcome" in stored:
            assert wire.write_element(element.body).raw == element.raw


@each_conversation
def test_a_conversation_runs_forward_and_ends_with_a_reply(folder):
    element_list = elements(folder)
    moments: Any = [
        timestamps.parse_timestamp(json.loads(element.raw)["timestamp"]) for element in element_list
    ]
    assert moments == sorted(moments)
    ds = int(folder.name.split("-")[0])
    assert 0 <= moments[0].timestamp() * 10 - ds < 10
    assert moments[0].year == 2026
    assert not outline.build_outline(element_list).turns[-1].is_incomplete


@each_conversation
def test_the_files_beside_it_are_those_that_jp_needs(folder):
    assert {path.name for path in folder.iterdir()} == {
        "metadata.json",
        "base_config.json",
        "events.json",
    }
    metadata, base = load(folder / "metadata.json"), load(folder / "base_config.json")
    assert timestamps.parse_timestamp(metadata["last_activated_at"])
    assert folder.name.endswith(
        "".join(c if c.isalnum() else "-" for c in metadata["title"].lower())
    )
    assert base["assistant"]["model"]["id"].keys() == {"provider", "name"}
    assert base["conversation"]["tools"]["*"]["run"] == "ask"
    for path in folder.iterdir():
        text = json.dumps(load(path), indent=2, ensure_ascii=False) + "\n"
        assert path.read_text() == text


def test_the_workspace_is_small_and_has_one_pinned_one_archived_and_labels():
    assert (ROOT / ".id").read_text().splitlines()[-1] == "demo1"
    files = [path for path in ROOT.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 64_000
    metadata = {folder: load(folder / "metadata.json") for folder in FOLDERS}
    assert sum("pinned_at" in fields for fields in metadata.values()) == 1
    assert [
        folder.parent.name for folder, fields in metadata.items() if "archived_at" in fields
    ] == [".archive"]
    assert any("labels" in fields for fields in metadata.values())
