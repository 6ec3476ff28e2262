"""Dates: every page writes them in the same form."""

from __future__ import annotations

import re

import pytest

from tests.web.reading import parse_page
from tests.web.world import World


@pytest.mark.parametrize("address", ["/workspaces/{}/people", "/account"])
def test_page_with_dates_writes_the_month_in_letters(world: World, address: str):
    client = world.client("owner")
    client.post(f"/workspaces/{world.home.pk}/people/invite", {"name": "Rita", "role": "10"})
    text = parse_page(client.get(address.format(world.home.pk))).text
    assert re.search(r"(expires|Signed in) \d{1,2} [A-Z][a-z]{2} \d{4}", text)
    assert not re.search(r"\d{4}-\d\d-\d\d", text)
