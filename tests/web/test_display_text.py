from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from django.template import Context, Template
from django.utils import timezone

from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import AnswerType
from jpweb.web import display_text
from jpweb.web.templatetags import jpweb_labels, jpweb_text
from tests.web.reading import parse_page


def render_template(template: str, **values: Any) -> str:
    return Template("{% load jpweb_labels jpweb_times %}" + template).render(Context(values))


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(hours=3, minutes=5), "3\xa0hours ago"),
        (timedelta(days=2, minutes=5), "2\xa0days ago"),
    ],
)
def test_timestamp_of_a_recent_time_shows_its_age(age: timedelta, expected: str):
    at = timezone.now() - age
    (tag,) = [
        t for t in parse_page(render_template("{% timestamp at %}", at=at)) if t.tag == "time"
    ]
    assert tag.text == expected
    assert tag["title"] == f"{at:%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.parametrize(
    "at", [timezone.now() + timedelta(days=1), datetime(2020, 5, 6, 7, 8, tzinfo=UTC)]
)
def test_timestamp_of_an_old_or_future_time_shows_its_date(at: datetime):
    assert f"{at:%H:%M}" in parse_page(render_template("{% timestamp at %}", at=at)).text
    assert render_template("{% timestamp at %}", at=None).strip() == ""


def test_an_exact_moment_has_its_date():
    at = timezone.now()
    assert (
        f"{at.year}, {at:%H:%M}"
        in parse_page(render_template("{% timestamp at exact=True %}", at=at)).text
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (True, "Yes"),
        (False, "No"),
        (None, ""),
        ({"ü": 1}, '{"ü": 1}'),
        (2, "2"),
        ([True], "[true]"),
    ],
)
def test_an_answer_is_shown_as_people_read_it(value: Any, expected: str):
    assert jpweb_text.answer_text(value) == expected


def test_a_first_line_fits_its_summary():
    assert jpweb_text.first_line("\n one\ntwo") == "one"
    assert jpweb_text.first_line("x" * 500) == "x" * 140 + "…"


def test_unknown_state_is_shown_by_its_tag():
    tag = parse_page(render_template('{% state_badge "novel" "<b>" %}')).find_one(
        **{"data-outcome": "novel"}
    )
    assert (tag["data-reason"], "novel" in tag.text) == ("<b>", True)


def test_decider_text_of_an_open_question_is_empty():
    assert jpweb_labels.decider_text(Inquiry(decided_by="person", decider_name="Ada")) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "immediately"), (1, "after 1 second"), (60, "after 1 minute"), (7_200, "after 2 hours")],
)
def test_describe_delay_has_the_largest_whole_unit(seconds: int, text: str):
    assert display_text.describe_delay(seconds) == text


@pytest.mark.parametrize("tag", [answer_type.TAG for answer_type in get_args(AnswerType)])
def test_answer_type_has_a_label(tag: str):
    label = jpweb_labels.answer_type_label(tag)
    assert label[0].isupper()
    assert label != tag
