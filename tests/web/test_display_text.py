from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.template import Context, Template
from django.utils import timezone

from jpweb.store.models import Inquiry
from jpweb.web import display_text
from jpweb.web.templatetags import jpweb_tags
from tests.web.reading import read


def shown(template: str, **values: Any) -> str:
    return Template("{% load jpweb_tags %}" + template).render(Context(values))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, ""),
        (0, "0 ms"),
        (0.25, "250 ms"),
        (1, "1.0 s"),
        (59.94, "59.9 s"),
        (61, "1 min 1 s"),
        (3600, "1 h 0 min"),
        (90061, "1 d 1 h"),
        (59.99, "60.0 s"),
    ],
)
def test_a_span_has_two_units(seconds: float | None, said: str):
    assert display_text.format_duration(seconds) == said


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("person", "Ada", "Ada"),
        ("person", "", "a person"),
        ("", "", "unknown"),
        ("system", "", "jpweb"),
        ("assistant", "gpt", "second model (gpt)"),
        ("x", "", "x"),
    ],
)
def test_who_decided_has_words(kind: str, name: str, said: str):
    assert display_text.describe_decider(kind, name) == said


def test_a_reason_that_nobody_knows_is_quoted():
    assert display_text.describe_reason("novel") == "“novel”"
    assert (
        display_text.describe_reason("lost")
        == display_text.REASON_TEXTS[next(r for r in display_text.REASON_TEXTS if r == "lost")]
    )


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(hours=3, minutes=5), "3\xa0hours ago"),
        (timedelta(days=2), "2\xa0days ago"),
    ],
)
def test_what_is_near_is_told_by_its_age(age: timedelta, said: str):
    at = timezone.now() - age
    (tag,) = [t for t in read(shown("{% timestamp at %}", at=at)) if t.tag == "time"]
    assert tag.text == said
    assert tag["title"] == f"{at:%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.parametrize(
    "at", [timezone.now() + timedelta(days=1), datetime(2020, 5, 6, 7, 8, tzinfo=UTC)]
)
def test_what_is_far_or_to_come_is_told_by_its_date(at: datetime):
    assert f"{at:%H:%M}" in read(shown("{% timestamp at %}", at=at)).text
    assert shown("{% timestamp at %}", at=None).strip() == ""


def test_an_exact_moment_has_its_date():
    at = timezone.now()
    assert f"{at.year}, {at:%H:%M}" in read(shown("{% timestamp at exact=True %}", at=at)).text


@pytest.mark.parametrize(
    ("value", "said"), [("a", "a"), (True, "true"), (None, ""), ({"ü": 1}, '{"ü": 1}'), (2, "2")]
)
def test_an_answer_is_shown_as_a_form_sends_it(value: Any, said: str):
    assert jpweb_tags.answer_text(value) == said


def test_a_first_line_fits_its_summary():
    assert jpweb_tags.first_line("\n one\ntwo") == "one"
    assert jpweb_tags.first_line("x" * 500) == "x" * 140 + "…"


def test_a_state_that_nobody_knows_is_shown_by_its_tag():
    tag = read(shown('{% state_badge "novel" "<b>" %}')).one(**{"data-outcome": "novel"})
    assert (tag["data-reason"], "novel" in tag.text) == ("<b>", True)


def test_a_question_that_is_open_was_decided_by_nobody():
    assert jpweb_tags.decider_text(Inquiry(decided_by="person", decider_name="Ada")) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "immediately"), (1, "after 1 second"), (60, "after 1 minute"), (7_200, "after 2 hours")],
)
def test_describe_delay_has_the_largest_whole_unit(seconds: int, text: str):
    assert display_text.describe_delay(seconds) == text
