from __future__ import annotations

from jpweb.runtime.inquiries import presence
from tests.web.sockets import connect_page
from tests.web.world import World


async def test_person_is_reachable_where_they_may_answer_while_a_page_is_open(
    shared_world: World,
):
    workspace_id, other_workspace_id = shared_world.workspace.pk, shared_world.other_workspace.pk
    async with connect_page(shared_world.people["responder"], inbox=True) as socket:
        await socket.receive_all()
        assert await presence.is_reachable(workspace_id)
        assert not await presence.is_reachable(other_workspace_id)
    assert not await presence.is_reachable(workspace_id)
    async with connect_page(shared_world.people["reader"], inbox=True) as socket:
        await socket.receive_all()
        assert not await presence.is_reachable(workspace_id)
