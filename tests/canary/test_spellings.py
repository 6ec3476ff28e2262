"""A secret is found in each spelling, wherever a longer text has it."""

from __future__ import annotations

import base64
import json

import pytest

from tests.canary.spellings import has_secret

SECRET = "canary-7f3a-Zürich"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("after", ["", "z", "yz"])
def test_secret_is_found_in_base64_at_each_offset(before: str, after: str):
    encoded = base64.b64encode(f"{before}{SECRET}{after}".encode()).decode()
    assert has_secret(json.dumps({"content": encoded}), SECRET)
    assert not has_secret(encoded, "canary-7f3b-Zürich")


def test_secret_is_found_as_it_is_and_in_hexadecimal():
    assert has_secret(f"It is {SECRET}.", SECRET)
    assert has_secret(SECRET.encode().hex(), SECRET)
    assert not has_secret("It is another.", SECRET)
