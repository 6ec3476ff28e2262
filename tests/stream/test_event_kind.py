"""Typed reads; each failure names its field."""

from __future__ import annotations

import pytest

from jpweb.stream import event_kind
from jpweb.stream.errors import MalformedElement, StreamError


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (event_kind.read_text, ""),
        (event_kind.read_flag, False),
        (event_kind.read_number, 0),
        (event_kind.read_mapping, {"a": 1}),
        (event_kind.read_required_mapping, {}),
        (event_kind.read_optional_text, "a"),
    ],
)
def test_a_field_of_the_right_type_is_returned(read, value):
    assert read({"key": value}, "key") == value


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (event_kind.read_text, None),
        (event_kind.read_text, 1),
        (event_kind.read_flag, 1),
        (event_kind.read_flag, None),
        (event_kind.read_number, True),
        (event_kind.read_number, -1),
        (event_kind.read_number, 1.0),
        (event_kind.read_mapping, None),
        (event_kind.read_mapping, []),
        (event_kind.read_required_mapping, []),
        (event_kind.read_optional_text, 1),
    ],
)
def test_a_field_of_another_type_is_named(read, value):
    with pytest.raises(MalformedElement, match="“key”"):
        read({"key": value}, "key")


@pytest.mark.parametrize(
    "read",
    [
        event_kind.read_text,
        event_kind.read_flag,
        event_kind.read_number,
        event_kind.read_required_mapping,
    ],
)
def test_a_missing_field_is_named(read):
    with pytest.raises(MalformedElement, match="“key”"):
        read({}, "key")


def test_optional_event_fields_may_be_absent():
    assert event_kind.read_mapping({}, "key") == {}
    assert event_kind.read_optional_text({}, "key") is None
    assert event_kind.read_optional_text({"key": None}, "key") is None
    assert event_kind.read_flag({}, "key", default=True) is True


def test_malformed_element_is_a_stream_error():
    assert issubclass(MalformedElement, StreamError)
