"""The filter of Decisions, beside a workspace of one's own and the demo: it has all its fields.

Those of dates and of an ID are under *More filters*, as those of Audit.
"""

from __future__ import annotations

import pytest

from tests.browser.workshop.shop import Stay

pytestmark = pytest.mark.browser


def test_fields_and_button_of_the_filter_take_one_line(workshop: Stay):
    page = workshop.open("/audit/decisions?demo=1&unattended=1", size=(1240, 800))
    page.locator("form.filter select").evaluate_all(
        "fields => fields.forEach((field) => field.add(new Option('A long name of a person')))"
    )
    bottoms = page.locator("form.filter > *").evaluate_all(
        "fields => fields.map((field) => Math.round(field.getBoundingClientRect().bottom))"
    )
    assert len(bottoms) == 7
    assert max(bottoms) - min(bottoms) <= 1, bottoms
