from __future__ import annotations

from typing import Any

from jpweb.runtime import process
from jpweb.runtime.signals import announce, fanout
from jpweb.store.people.sessions import hash_key
from tests.runtime.playing import ear


async def test_a_signal_reaches_those_who_look_at_its_thing_alone():
    async with (
        ear(announce.conversation_group(7)) as seven,
        ear(announce.conversation_group(8)) as eight,
        ear(announce.workspace_group(7)) as home,
        ear(announce.session_group("key")) as session,
    ):
        await announce.conversation(7)
        assert await seven() == {"kind": "conversation"}
        await announce.questions(7)
        assert await home() == {"kind": "questions"}
        await announce.partial(7, "message", "Te")
        assert await seven() == {"kind": "partial", "variant": "message", "text": "Te"}
        await announce.signed_out(["key"])
        assert await session() == {"kind": "session"}
        for hear in (seven, eight, home, session):
            assert hear.take_all() == []


async def test_the_key_of_a_sign_in_is_not_given_away():
    assert "secret-key" not in announce.session_group(hash_key("secret-key"))


async def test_who_subscribed_to_a_kind_hears_it_until_they_undo_it():
    heard: list[Any] = []
    undo = fanout.subscribe("run", heard.append)
    fanout.subscribe("settled", heard.append)
    fanout.subscribe("decided", heard.append)
    await announce.run(3)
    await announce.settled(4)
    await announce.decided(5)
    assert heard == [
        {"kind": "run", "run": 3},
        {"kind": "settled", "inquiry": 4},
        {"kind": "decided", "prompt": 5},
    ]
    undo()
    undo()
    await announce.run(3)
    assert len(heard) == 3


async def test_what_is_for_this_process_reaches_it_and_what_is_for_another_does_not():
    heard: list[Any] = []
    fanout.subscribe("secret", heard.append)
    await announce.to_process("elsewhere#1", "secret", sealed="x")
    assert heard == []
    await announce.to_process(process.name(), "secret", sealed="x")
    assert heard == [{"kind": "secret", "sealed": "x"}]


async def test_a_look_tells_everybody_that_what_they_look_at_has_changed():
    heard: list[Any] = []
    fanout.subscribe(fanout.LOOK, heard.append)
    async with (
        ear(announce.conversation_group(7)) as seven,
        ear(announce.workspace_group(9)) as home,
        ear(announce.session_group("key")) as session,
    ):
        assert fanout.watched("conversation") == {7}
        assert fanout.watched("workspace") == {9}
        fanout.look()
        assert await seven() == {"kind": "conversation"}
        assert await home() == {"kind": "questions"}
        assert session.take_all() == []
    assert heard == [{"kind": "look"}]


async def test_who_leaves_while_they_are_told_is_no_harm():
    class Leaves:
        def hear(self, signal: fanout.Signal) -> None:
            fanout.leave("conversation-7", self)
            fanout.leave("conversation-7", self)

    for _ in range(3):
        fanout.join("conversation-7", Leaves())
    await announce.conversation(7)
    assert fanout.watched("conversation") == set()
