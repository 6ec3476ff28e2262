from __future__ import annotations

from jpweb.runtime.inquiries import presence
from tests.web.sockets import page
from tests.web.world import World


async def test_a_person_is_reachable_where_they_may_answer_for_as_long_as_their_page_is_open(
    lasting: World,
):
    home, elsewhere = lasting.home.pk, lasting.elsewhere.pk
    async with page(lasting.people["responder"], inbox=True) as socket:
        await socket.everything()
        assert await presence.is_reachable(home)
        assert not await presence.is_reachable(elsewhere)
    assert not await presence.is_reachable(home)
    async with page(lasting.people["reader"], inbox=True) as socket:
        await socket.everything()
        assert not await presence.is_reachable(home)
