"""One sample of everything an element can be; what is missing is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from jpweb.stream import wire
from jpweb.stream.answer_type import ANSWER_TYPES
from jpweb.stream.events import KINDS, BrokenEvent, ChatResponse, ResponseVariant, UnknownEvent
from jpweb.stream.inquiry import (
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryRequest,
    InquiryResponse,
    SourceTag,
    UnknownReason,
)

FOLDER = Path(__file__).parents[2] / "samples" / "events"
SAMPLES = {path.name.removesuffix(".json"): path.read_text() for path in FOLDER.glob("*.json")}
NOT_AS_JP_WRITES = {"broken", "unknown", "inquiry_response.legacy", "config_delta.flattened"}


def list_sampled_tags(prefix="") -> Any:
    starts = [name.removeprefix(prefix) for name in SAMPLES if name.startswith(prefix)]
    return {start.split(".")[0] for start in starts}


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("", {*KINDS, "unknown", "broken"}),
        ("chat_response.", set(get_args(ResponseVariant))),
        ("inquiry_request.", set(ANSWER_TYPES)),
        ("inquiry_response.", {outcome.TAG for outcome in get_args(InquiryOutcome)} | {"legacy"}),
        ("inquiry_response.cancelled.", {*CancellationReason, "some_future_reason"}),
    ],
)
def test_event_tags_all_have_samples(prefix, names):
    missing_tags = [
        f"tests/samples/events/{prefix}{name}.json" for name in names - list_sampled_tags(prefix)
    ]
    assert not missing_tags, f"write {', '.join(sorted(missing_tags))}"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_sample_reads_as_the_kind_of_its_name(name):
    tag, *parts = name.split(".")
    element = wire.read_element(SAMPLES[name].strip())
    if tag in ("unknown", "broken"):
        assert isinstance(element.body, UnknownEvent if tag == "unknown" else BrokenEvent)
        return
    assert element.tag == tag
    match element.kind:
        case ChatResponse(variant=variant):
            assert parts == [variant]
        case InquiryRequest(question=question):
            assert parts == [question.answer_type.TAG]
        case InquiryResponse(outcome=Cancelled(reason)):
            assert parts == ["cancelled", reason.tag]
            assert isinstance(reason, UnknownReason) == (parts[1] == "some_future_reason")
        case InquiryResponse(outcome=outcome):
            assert parts in ([outcome.TAG], ["legacy"])
        case _:
            assert tag in KINDS


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - NOT_AS_JP_WRITES))
def test_a_sample_is_written_as_it_was_read(name):
    text = SAMPLES[name].strip()
    body: Any = wire.read_element(text).body
    assert wire.write_element(body).raw.replace("\n  ", "\n") == text


def test_the_samples_show_every_source():
    tags = {
        kind.source.tag
        for text in SAMPLES.values()
        if isinstance(kind := wire.read_element(text.strip()).kind, InquiryRequest)
    }
    assert tags == set(SourceTag)
