"""Replacing content in one element: what names its parts stays, whatever its layout."""

from __future__ import annotations

import pytest

from jpweb.store.masking import masks, replacement
from jpweb.stream import wire
from jpweb.stream.answer_type import Option, Select
from jpweb.stream.inquiry import InquiryRequest
from tests.builders import AT, make_element, make_inquiry

MARKER, SECRET = "[removed]", "hunter2-pass"


@pytest.mark.parametrize("string", ["answer_type", "type", "options", "value", "select", "text"])
def test_string_that_is_also_a_questions_key_is_replaced_in_its_text(string: str):
    options = Select((Option(string, f"a {string}"), Option(2)))
    element = make_element(make_inquiry("c.q.1", f"Which {string}?", type=options))
    replaced = replacement.replace_in_element(element, [string], MARKER).element
    assert isinstance(replaced.kind, InquiryRequest)
    assert replaced.kind.question.text == f"Which {MARKER}?"
    assert replaced.kind.question.answer_type == Select((Option(MARKER, f"a {MARKER}"), Option(2)))


def test_string_that_is_only_a_questions_key_is_no_content():
    element = make_element(make_inquiry("c.q.1", "Go on?"))
    assert replacement.replace_in_element(element, ["answer_type"], MARKER).counts == {}


@pytest.mark.parametrize("depth", [100, 600])
def test_element_that_is_nested_deeply_is_replaced_in_its_text(depth: int):
    nested = "[" * depth + f'"{SECRET}"' + "]" * depth
    element = wire.read_element(f'{{"type": "novel", "x": {nested}}}')
    replaced = replacement.replace_in_element(element, [SECRET], MARKER)
    assert replaced.counts == {"novel": 1}
    assert (SECRET in replaced.element.raw, MARKER in replaced.element.raw) == (False, True)
    whole = replacement.replace_whole(element, MARKER).element
    assert SECRET not in whole.raw


def test_lone_surrogate_stays_escaped_beside_a_replacement():
    element = wire.read_element(f'{{"type": "chat_response", "message": "{SECRET} \\ud800"}}')
    replaced = replacement.replace_in_element(element, [SECRET], MARKER).element
    assert f"{MARKER} \\ud800".encode() in replaced.raw.encode()


UNREAD = [
    pytest.param('"type": "chat_response", "message": "Hi", "thinking": ["SECRET"]', id="unknown"),
    pytest.param('"type": "chat_response", "message": "Hi", "reasoning": "SECRET"', id="variant"),
    pytest.param(
        '"type": "inquiry_response", "id": "a", "outcome": "redacted", "answer": "SECRET"',
        id="outcome",
    ),
]


@pytest.mark.parametrize("fields", UNREAD)
def test_field_that_an_event_of_its_kind_does_not_have_is_content(fields: str):
    text = f'{{"timestamp": "{AT}", {fields.replace("SECRET", SECRET)}}}'
    element = wire.read_element(text)
    assert SECRET in [content.text for content in masks.list_texts(element)]
    replaced = replacement.replace_in_element(element, [SECRET], MARKER)
    assert (list(replaced.counts.values()), SECRET in replaced.element.raw) == ([1], False)
    assert replaced.element.kind == element.kind
    whole = replacement.replace_whole(element, MARKER)
    assert (SECRET in whole.strings, SECRET in whole.element.raw) == (True, False)


def test_name_of_a_field_that_its_kind_does_not_have_is_content():
    text = f'{{"timestamp": "{AT}", "type": "chat_response", "message": "Hi", "{SECRET}": true}}'
    replaced = replacement.replace_in_element(wire.read_element(text), [SECRET], MARKER)
    assert (list(replaced.counts.values()), SECRET in replaced.element.raw) == ([1], False)


def test_field_without_a_value_is_no_content():
    text = f'{{"timestamp": "{AT}", "type": "inquiry_response", "id": "a", "outcome": "cancelled", '
    element = wire.read_element(text + '"reason": "user", "answer": null}')
    assert replacement.replace_whole(element, MARKER).counts == {}


def test_places_that_a_file_made_up_are_not_named():
    counts = {"answer": 2, "my secret field": 1, "note": 1}
    assert replacement.list_places(counts) == ["answer", "note", "other"]
