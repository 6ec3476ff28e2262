"""The values of ledger entries, as the pages *Ledger* and *Decisions* show them."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place, record_act
from tests.web.reading import parse_page
from tests.web.world import World


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ("2026-11-27T20:06:42.419492+00:00", "until 27 Nov 2026, 20:06 UTC"),
        ("2026-11-27T20:06:42+02:00", "until 27 Nov 2026, 18:06 UTC"),
        ("soon", "until soon"),
    ],
)
def test_end_of_a_claim_is_written_as_pages_write_times(world: World, until: str, text: str):
    actor = Actor.from_person(world.people["owner"])
    place = Place(world.home.pk, world.conversation.pk)
    record_act(Act.QUESTION_CLAIMED, actor, place, until=until)
    page = parse_page(world.client("auditor").get("/audit/ledger?act=question_claimed"))
    assert text in page.text
