from __future__ import annotations

from typing import Any

from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.store.people.sessions import hash_key
from tests.runtime.playing import subscribe


async def test_a_signal_reaches_those_who_look_at_its_thing_alone():
    async with (
        subscribe(publisher.make_conversation_topic(7)) as seven,
        subscribe(publisher.make_conversation_topic(8)) as eight,
        subscribe(publisher.make_workspace_topic(7)) as workspace,
        subscribe(publisher.make_session_topic("key")) as session,
    ):
        await publisher.publish_conversation_changed(7)
        assert await seven() == {"kind": "conversation"}
        await publisher.publish_questions_changed(7)
        assert await workspace() == {"kind": "questions"}
        await publisher.publish_partial_text(7, "message", "Te")
        assert await seven() == {"kind": "partial", "variant": "message", "text": "Te"}
        await publisher.publish_signed_out(["key"])
        assert await session() == {"kind": "session"}
        for hear in (seven, eight, workspace, session):
            assert hear.take_all() == []


async def test_the_key_of_a_sign_in_is_not_given_away():
    assert "secret-key" not in publisher.make_session_topic(hash_key("secret-key"))


async def test_kind_subscriber_receives_signals_until_removed():
    signals: list[Any] = []
    for kind in ("run", "settled", "decided"):
        local_bus.add_subscriber(local_bus.make_kind_topic(kind), signals.append)
    await publisher.publish_run_changed(3)
    await publisher.publish_question_settled(4)
    await publisher.publish_approval_decided(5)
    assert signals == [
        {"kind": "run", "run": 3},
        {"kind": "settled", "inquiry": 4},
        {"kind": "decided", "approval": 5},
    ]
    for _ in range(2):
        local_bus.remove_subscriber(local_bus.make_kind_topic("run"), signals.append)
    await publisher.publish_run_changed(3)
    assert len(signals) == 3


async def test_a_signal_reaches_its_topic_before_its_kind():
    order: list[str] = []
    kind_topic = local_bus.make_kind_topic("conversation")
    local_bus.add_subscriber(kind_topic, lambda _: order.append("kind"))
    topic = publisher.make_conversation_topic(7)

    def note_topic(_: local_bus.Signal) -> None:
        order.append("topic")

    local_bus.add_subscriber(topic, note_topic)
    await publisher.publish_conversation_changed(7)
    local_bus.remove_subscriber(topic, note_topic)
    assert order == ["topic", "kind"]
    assert local_bus.list_watched_keys("conversation") == set(), "a kind is no row"


async def test_message_to_a_process_reaches_that_process_alone():
    signals: list[Any] = []
    local_bus.add_subscriber(local_bus.make_kind_topic("secret"), signals.append)
    await publisher.send_to_process("elsewhere#1", "secret", sealed="x")
    assert signals == []
    await publisher.send_to_process(process_identity.get_process_name(), "secret", sealed="x")
    assert signals == [{"kind": "secret", "sealed": "x"}]


async def test_resync_signals_a_change_to_all_subscribers():
    signals: list[Any] = []
    local_bus.add_subscriber(local_bus.make_kind_topic(local_bus.RESYNC), signals.append)
    async with (
        subscribe(publisher.make_conversation_topic(7)) as seven,
        subscribe(publisher.make_workspace_topic(9)) as workspace,
        subscribe(publisher.make_session_topic("key")) as session,
    ):
        assert local_bus.list_watched_keys("conversation") == {7}
        assert local_bus.list_watched_keys("workspace") == {9}
        local_bus.resync_all()
        assert await seven() == {"kind": "conversation"}
        assert await workspace() == {"kind": "questions"}
        assert session.take_all() == []
    assert signals == [{"kind": "resync"}]


async def test_subscriber_may_unsubscribe_during_a_signal():
    class Leaves:
        def on_signal(self, signal: local_bus.Signal) -> None:
            local_bus.remove_subscriber("conversation-7", self.on_signal)
            local_bus.remove_subscriber("conversation-7", self.on_signal)

    for _ in range(3):
        local_bus.add_subscriber("conversation-7", Leaves().on_signal)
    await publisher.publish_conversation_changed(7)
    assert local_bus.list_watched_keys("conversation") == set()
