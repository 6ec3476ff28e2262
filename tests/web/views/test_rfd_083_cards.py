"""RFD 083, phase 1: the prompt of each answer type, persistence and prompt label."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import AnswerType, Boolean, Option, Secret, Select, Text
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import AnswerReusePolicy, InquiryQuestion, InquiryRequest, InquirySource
from tests.builders import AT
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import World

#: The type of the field or button with which each type of question is answered.
FIELDS: dict[AnswerType, str] = {
    Boolean(): "submit",
    Select((Option("a"), Option("b"))): "submit",
    Select(tuple(Option(letter) for letter in "abcdef")): "radio",
    Select((Option("a" * 41), Option("b"))): "radio",
    Text(): "textarea",
    Secret(): "password",
}


def show_card(
    world: World, kind: AnswerType, persistence: Any, label: str | None
) -> tuple[ParsedPage, Tag]:
    """Return the list of questions and, in it, the card of this one."""
    question = InquiryQuestion("Well?", kind, None, None, False, persistence)
    request = InquiryRequest("c.q.1", InquirySource.for_tool("git"), question)
    note = {"jpweb": {"label": label}} if label else {}
    journal.append_events(world.conversation.pk, [ConversationEvent(AT, request, note)], world.run)
    row = Inquiry.objects.get(inquiry_id="c.q.1")
    page = parse_page(world.client("responder").get("/questions"))
    return page, page.find_one(id=f"question-{row.pk}")


@pytest.mark.parametrize(
    ("kind", "persistence", "label"),
    [*product(FIELDS, AnswerReusePolicy, [None, "Deployment"])],
    ids=str,
)
def test_the_card_of_each_answer_type_persistence_and_prompt_label(
    world: World, kind: AnswerType, persistence: AnswerReusePolicy, label: str | None
):
    page, card = show_card(world, kind, persistence, label)
    inside = [tag for tag in page if tag.inside(id=card["id"])]
    answers = [tag for tag in inside if tag.get("name") == "answer"]
    assert {tag.get("type", tag.tag) for tag in answers} == {FIELDS[kind]}
    is_remembered = isinstance(kind, Boolean) and persistence is AnswerReusePolicy.TURN
    assert any(tag.get("name") == "remember" for tag in inside) is is_remembered
    text = " ".join(card.text.split())
    assert text.startswith(f"Tool “{label or 'git'}” asks")
    assert ("(git)" in text) is (label is not None)
