"""A kind, outcome, reason or answer type that is added here and there, but not everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.store.choices import ApprovalKind
from jpweb.stream import answer_type, events, inquiry
from jpweb.web import display_text
from tests.architecture.tree import files

TEMPLATES = {str(path) for path in files() if path.parts[0] == "templates"}
SAMPLES = {path.name for path in files() if path.parts[:3] == ("tests", "samples", "events")}
OUTCOMES = [outcome.TAG for outcome in get_args(inquiry.InquiryOutcome)]
UNSETTLED = ["open", "unanswered"]
REASONS = [reason.value for reason in inquiry.CancellationReason]


def test_each_tag_has_the_word_that_people_read():
    assert set(display_text.EVENT_KIND_LABELS) == {*events.KINDS}
    assert set(display_text.STATE_LABELS) == {*OUTCOMES, *UNSETTLED}
    assert set(display_text.REASON_TEXTS) == {*REASONS}
    assert set(display_text.SOURCE_LABELS) == {source.value for source in inquiry.SourceTag}
    assert set(display_text.FAILURE_TEXTS) == {kind.value for kind in FailureKind}
    assert {kind for kind, _ in display_text.DECISION_LABELS} == {
        kind.value for kind in ApprovalKind
    }


@pytest.mark.parametrize("tag", events.KINDS)
def test_each_kind_has_its_template_and_sample(tag: str):
    assert f"templates/events/{tag}.html" in TEMPLATES
    assert any(name.split(".")[0] == tag for name in SAMPLES)


@pytest.mark.parametrize("tag", [*OUTCOMES, *UNSETTLED])
def test_each_outcome_has_its_template(tag: str):
    assert f"templates/outcomes/{tag}.html" in TEMPLATES


@pytest.mark.parametrize("tag", OUTCOMES)
def test_each_outcome_has_its_sample(tag: str):
    assert any(name.startswith(f"inquiry_response.{tag}.") for name in SAMPLES)


@pytest.mark.parametrize("tag", REASONS)
def test_each_reason_has_its_sample(tag: str):
    assert f"inquiry_response.cancelled.{tag}.json" in SAMPLES


@pytest.mark.parametrize("tag", answer_type.ANSWER_TYPES)
def test_each_answer_type_has_its_template_and_sample(tag: str):
    assert f"templates/answers/{tag}.html" in TEMPLATES
    assert f"inquiry_request.{tag}.json" in SAMPLES


@pytest.mark.parametrize(
    ("folder", "known"),
    [
        ("events", {*events.KINDS, "unknown", "broken"}),
        ("answers", {*answer_type.ANSWER_TYPES, "unknown"}),
    ],
)
def test_no_template_is_left_of_what_is_gone(folder: str, known: set[str]):
    there = {Path(t).stem for t in TEMPLATES if Path(t).parent == Path("templates", folder)}
    assert {stem for stem in there if not stem.startswith("_")} <= known
