from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone as clock

from jpweb.store.inbox.previous_answers import PreviousAnswer
from jpweb.stream.answer_type import Text
from jpweb.web.templatetags import jpweb_questions
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

AT = datetime(2026, 11, 20, 9, 5, 7, 120, UTC)


def _earlier(**fields: Any) -> PreviousAnswer:
    usual: dict[str, Any] = {"pk": 7, "state": "answered", "reason": "", "answer": True}
    usual |= {"note": "", "decided_by": "person", "decider_name": "Ada", "channel": ""}
    usual |= {"settled_at": AT}
    return PreviousAnswer(**usual | {"title": "A <talk>"} | fields)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"state": "cancelled", "reason": "user", "answer": None}, "Cancelled"),
        ({"answer": False}, "<code>No</code>"),
        ({"answer": ["a", {"b": 1}]}, "<code>[&quot;a&quot;"),
        ({"answer": "a\u202eb"}, "<code>a⟨U+202E⟩b</code>"),
        ({"note": "c\u202ed"}, ">c⟨U+202E⟩d</q>"),
        ({"answer": "one\ntwo"}, "<code>one</code>"),
        ({"note": "why <not>\nand more"}, ">why &lt;not&gt;</q>"),
        ({"decider_name": "Eve"}, "by Eve"),
        ({"settled_at": AT - timedelta(days=400)}, "16 Oct 2025"),
        ({"title": ""}, ">Untitled</a>"),
        ({"pk": 8}, 'data-previous-answer="8"'),
    ],
)
def test_previous_answer_shows_its_current_outcome(changes: dict[str, Any], expected: str):
    first, second = (
        jpweb_questions.render_previous_answer(_earlier()),
        jpweb_questions.render_previous_answer(_earlier(**changes)),
    )
    assert expected in second
    assert expected not in first
    assert ">A &lt;talk&gt;</a>" in first
    assert jpweb_questions.render_previous_answer(_earlier()) == first


def test_previous_answer_age_is_not_cached(monkeypatch: pytest.MonkeyPatch):
    moment = clock.now()
    answer = _earlier(settled_at=moment)
    assert "just now" in jpweb_questions.render_previous_answer(answer)
    monkeypatch.setattr("jpweb.web.display_text.format_age", lambda _: "2 hours ago")
    assert "2 hours ago" in jpweb_questions.render_previous_answer(answer)


def test_a_default_too_long_for_the_field_is_behind_a_link(world: World):
    row = making.question(world.run, Text())
    row.question["default"] = "x" * 12_001
    page = parse_page(jpweb_questions.answer_fields(row))
    assert page.find_one(name="answer").text.strip() == ""
    (link,) = page.find_all(href=f"/conversations/{row.conversation_id}/events/{row.anchor}")
    assert link.text == "Show it"
    row.question["default"] = "x" * 12_000
    assert parse_page(jpweb_questions.answer_fields(row)).find_one(name="answer").text.strip()
