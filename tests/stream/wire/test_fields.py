"""Typed reads; each failure names its field."""

from __future__ import annotations

import pytest

from jpweb.stream import fields
from jpweb.stream.errors import BrokenElement, StreamError


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (fields.text, ""),
        (fields.flag, False),
        (fields.number, 0),
        (fields.mapping, {"a": 1}),
        (fields.required_mapping, {}),
        (fields.optional_text, "a"),
    ],
)
def test_a_field_of_the_right_type_is_returned(read, value):
    assert read({"key": value}, "key") == value


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (fields.text, None),
        (fields.text, 1),
        (fields.flag, 1),
        (fields.flag, None),
        (fields.number, True),
        (fields.number, -1),
        (fields.number, 1.0),
        (fields.mapping, None),
        (fields.mapping, []),
        (fields.required_mapping, []),
        (fields.optional_text, 1),
    ],
)
def test_a_field_of_another_type_is_named(read, value):
    with pytest.raises(BrokenElement, match="“key”"):
        read({"key": value}, "key")


@pytest.mark.parametrize("read", [fields.text, fields.flag, fields.number, fields.required_mapping])
def test_a_missing_field_is_named(read):
    with pytest.raises(BrokenElement, match="“key”"):
        read({}, "key")


def test_what_is_optional_may_be_absent():
    assert fields.mapping({}, "key") == {}
    assert fields.optional_text({}, "key") is None
    assert fields.optional_text({"key": None}, "key") is None
    assert fields.flag({}, "key", default=True) is True


def test_every_error_of_the_package_is_a_stream_error():
    assert issubclass(BrokenElement, StreamError)
