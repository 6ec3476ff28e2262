"""Typed reads; each failure names its field."""

from __future__ import annotations

import pytest

from jpweb.stream import kinds
from jpweb.stream.errors import BrokenElement, StreamError


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (kinds.text, ""),
        (kinds.flag, False),
        (kinds.number, 0),
        (kinds.mapping, {"a": 1}),
        (kinds.required_mapping, {}),
        (kinds.optional_text, "a"),
    ],
)
def test_a_field_of_the_right_type_is_returned(read, value):
    assert read({"key": value}, "key") == value


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (kinds.text, None),
        (kinds.text, 1),
        (kinds.flag, 1),
        (kinds.flag, None),
        (kinds.number, True),
        (kinds.number, -1),
        (kinds.number, 1.0),
        (kinds.mapping, None),
        (kinds.mapping, []),
        (kinds.required_mapping, []),
        (kinds.optional_text, 1),
    ],
)
def test_a_field_of_another_type_is_named(read, value):
    with pytest.raises(BrokenElement, match="“key”"):
        read({"key": value}, "key")


@pytest.mark.parametrize("read", [kinds.text, kinds.flag, kinds.number, kinds.required_mapping])
def test_a_missing_field_is_named(read):
    with pytest.raises(BrokenElement, match="“key”"):
        read({}, "key")


def test_what_is_optional_may_be_absent():
    assert kinds.mapping({}, "key") == {}
    assert kinds.optional_text({}, "key") is None
    assert kinds.optional_text({"key": None}, "key") is None
    assert kinds.flag({}, "key", default=True) is True


def test_every_error_of_the_package_is_a_stream_error():
    assert issubclass(BrokenElement, StreamError)
