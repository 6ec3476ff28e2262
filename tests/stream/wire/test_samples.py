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


def sampled(prefix="") -> Any:
    starts = [name.removeprefix(prefix) for name in SAMPLES if name.startswith(prefix)]
    return {start.split(".")[0] for start in starts}


@pytest.mark.parametrize(
    ("prefix", "wanted"),
    [
        ("", {*KINDS, "unknown", "broken"}),
        ("chat_response.", set(get_args(ResponseVariant))),
        ("inquiry_request.", set(ANSWER_TYPES)),
        ("inquiry_response.", {outcome.TAG for outcome in get_args(InquiryOutcome)} | {"legacy"}),
        ("inquiry_response.cancelled.", {*CancellationReason, "some_future_reason"}),
    ],
)
def test_everything_has_a_sample(prefix, wanted):
    missing = [f"tests/samples/events/{prefix}{name}.json" for name in wanted - sampled(prefix)]
    assert not missing, f"write {', '.join(sorted(missing))}"


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_reads_as_what_its_name_says(name):
    tag, *rest = name.split(".")
    found = wire.read_element(SAMPLES[name].strip())
    if tag in ("unknown", "broken"):
        assert isinstance(found.body, UnknownEvent if tag == "unknown" else BrokenEvent)
        return
    assert found.tag == tag
    match found.kind:
        case ChatResponse(variant=variant):
            assert rest == [variant]
        case InquiryRequest(question=question):
            assert rest == [question.answer_type.TAG]
        case InquiryResponse(outcome=Cancelled(reason)):
            assert rest == ["cancelled", reason.tag]
            assert isinstance(reason, UnknownReason) == (rest[1] == "some_future_reason")
        case InquiryResponse(outcome=outcome):
            assert rest in ([outcome.TAG], ["legacy"])
        case _:
            assert tag in KINDS


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - NOT_AS_JP_WRITES))
def test_a_sample_is_written_as_it_was_read(name):
    text = SAMPLES[name].strip()
    body: Any = wire.read_element(text).body
    assert wire.write_element(body).raw.replace("\n  ", "\n") == text


def test_the_samples_show_every_source():
    shown = {
        kind.source.tag
        for text in SAMPLES.values()
        if isinstance(kind := wire.read_element(text.strip()).kind, InquiryRequest)
    }
    assert shown == set(SourceTag)
