"""The words for outcomes and deciders."""

from __future__ import annotations

import pytest

from jpweb.stream.markdown import outcome_texts


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("person", "Ada", "Ada"),
        ("person", "", "a person"),
        ("", "", "unknown"),
        ("system", "", "jpweb"),
        ("assistant", "gpt", "second model (gpt)"),
        ("x", "", "x"),
    ],
)
def test_describe_decider_names_kind_and_person(kind: str, name: str, expected: str):
    assert outcome_texts.describe_decider(kind, name) == expected


def test_unknown_cancellation_reason_is_quoted():
    assert outcome_texts.describe_reason("novel") == "“novel”"
    assert (
        outcome_texts.describe_reason("lost")
        == outcome_texts.REASON_TEXTS[next(r for r in outcome_texts.REASON_TEXTS if r == "lost")]
    )
