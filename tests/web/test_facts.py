"""What people change about a conversation, by plain forms."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.jp_files import metadata_file
from jpweb.store.models import Conversation
from tests.web.reading import read
from tests.web.sockets import page, shows
from tests.web.world import World


def change(world: World, who: str = "responder", **data: str) -> Any:
    address = f"/conversations/{world.talk.pk}/change"
    return world.client(who).post(address, {"next": "/conversations?q=talk"} | data, follow=True)


@pytest.mark.parametrize(
    ("data", "said", "becomes"),
    [
        ({"do": "pin"}, "Pinned “A talk”.", {"archived": False}),
        ({"do": "unpin"}, "Unpinned “A talk”.", {"pinned_at": None}),
        ({"do": "archive"}, "Archived “A talk”", {"archived": True}),
        ({"do": "unarchive"}, "Unarchived “A talk”.", {"archived": False}),
        (
            {"do": "rename", "title": "<New> talk"},
            "Renamed to “<New> talk”.",
            {"title": "<New> talk"},
        ),
        ({"do": "rename"}, "Renamed to “Untitled”.", {"title": ""}),
        (
            {"do": "label", "label": "area=x"},
            "Added the label “area=x”",
            {"labels": {"k": "", "area": "x"}},
        ),
        ({"do": "unlabel", "label": "k"}, "Removed the label “k”", {"labels": {}}),
        ({"do": "label", "label": "a b"}, "is not a valid label name", {"labels": {"k": ""}}),
        ({"do": "paint"}, "Choose what to change", {"title": "A talk"}),
    ],
)
def test_a_responder_changes_a_conversation_and_is_told(
    world: World, data: dict[str, str], said: str, becomes: dict[str, Any]
):
    Conversation.objects.update(labels={"k": ""})
    response = change(world, **data)
    assert response.redirect_chain == [(f"/conversations?q=talk#c{world.talk.pk}", 302)]
    assert said in read(response).text
    row = Conversation.objects.get(pk=world.talk.pk)
    assert {name: getattr(row, name) for name in becomes} == becomes


@pytest.mark.parametrize("there", ["//evil.example", "https://evil.example/", "evil", "/\\evil.x"])
def test_nobody_is_led_elsewhere_by_a_change(world: World, there: str):
    response = change(world, do="pin", next=there)
    assert response.redirect_chain == [(f"/conversations/{world.talk.pk}", 302)]


def test_a_change_is_announced_to_those_who_look(world: World, monkeypatch: pytest.MonkeyPatch):
    stub = AsyncMock()
    monkeypatch.setattr(publisher, "publish_conversation_changed", stub)
    change(world, do="label", label="a b")
    stub.assert_not_awaited()
    change(world, do="pin")
    stub.assert_awaited_once_with(world.talk.pk)


def test_what_is_jps_says_why_it_cannot_be_changed(world: World):
    Conversation.objects.update(origin="mirrored")
    reason = "an owner of Garden to enable writing on its People page"
    page = read(world.client("responder").get(f"/conversations/{world.talk.pk}/facts"))
    assert reason in page.text
    assert not [tag for tag in page if tag.get("name") == "do"]
    assert reason in read(change(world, do="pin")).text
    assert not read(world.client("responder").get("/conversations")).all(value="pin")


def test_only_who_may_change_it_has_the_ways_to(world: World):
    for who, there in (("reader", False), ("responder", True)):
        page = read(world.client(who).get("/conversations"))
        buttons = [tag for tag in page if tag.get("name") == "do"]
        assert bool(buttons) is there
        assert bool(page.all(href=f"/conversations/{world.talk.pk}/facts")) is there


async def test_a_page_hears_of_another_title_label_or_pin_once(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["reader"], **says | {"questions": []}) as socket:
        await socket.everything()
        for wanted, said in (
            (metadata_file.make_title_change("<New> words"), "<New> words"),
            (metadata_file.make_label_change("area=x"), "area=x"),
            (metadata_file.MetadataChange(pinned=True), "Pinned: "),
        ):
            await run_in_db_thread(metadata_file.apply_change, lasting.talk.pk, wanted)
            await publisher.publish_conversation_changed(lasting.talk.pk)
            heard = read(await socket.everything())
            assert said in heard.one(id="heading").text + heard.one(id="metadata").text
            assert not heard.all(id="edit-menu-body")
        await publisher.publish_conversation_changed(lasting.talk.pk)
        assert await socket.hears_nothing()


async def test_who_may_change_it_is_sent_the_menu_as_it_is_then(lasting: World):
    says = await run_in_db_thread(shows, lasting)
    async with page(lasting.people["responder"], **says | {"questions": []}) as socket:
        await socket.everything()
        wanted = metadata_file.MetadataChange(title="<New> words", archived=True)
        await run_in_db_thread(metadata_file.apply_change, lasting.talk.pk, wanted)
        await publisher.publish_conversation_changed(lasting.talk.pk)
        heard = read(await socket.everything())
        assert heard.one(name="title")["value"] == "<New> words"
        assert [tag["value"] for tag in heard.all(name="do") if tag["value"] != "unlabel"] == [
            "rename",
            "label",
            "unarchive",
        ]
        assert {tag["value"] for tag in heard.all(name="next")} == {
            f"/conversations/{lasting.talk.pk}"
        }
