"""What people change about a conversation, by plain forms."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.jp_files import metadata_file
from jpweb.store.jp_files.locks import LockHeld, LockHolder
from jpweb.store.jp_files.metadata_file import ConversationBusy
from jpweb.store.models import Conversation
from tests.web.reading import parse_page
from tests.web.sockets import connect_page, make_hello
from tests.web.world import World


def change(world: World, person_name: str = "responder", **data: str) -> Any:
    address = f"/conversations/{world.conversation.pk}/change"
    return world.client(person_name).post(
        address, {"next": "/conversations?q=talk"} | data, follow=True
    )


@pytest.mark.parametrize(
    ("data", "message", "expected"),
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
def test_conversation_change_of_a_responder_is_saved_and_confirmed(
    world: World, data: dict[str, str], message: str, expected: dict[str, Any]
):
    Conversation.objects.update(labels={"k": ""})
    response = change(world, **data)
    assert response.redirect_chain == [(f"/conversations?q=talk#c{world.conversation.pk}", 302)]
    assert message in parse_page(response).text
    row = Conversation.objects.get(pk=world.conversation.pk)
    assert {name: getattr(row, name) for name in expected} == expected


def test_notice_of_an_archived_conversation_undoes_it_by_its_form(world: World):
    client = world.client("responder")
    address = f"/conversations/{world.conversation.pk}/change"
    list_url = "/conversations?q=talk"
    response = client.post(address, {"do": "archive", "next": list_url}, follow=True)
    page = parse_page(response)
    (form,) = [tag for tag in page.find_all(action=address) if tag.tag == "form"]
    assert form.inside(role="status")
    fields = {tag["name"]: tag["value"] for tag in page if form in tag.parents and "name" in tag}
    assert fields["next"] == list_url
    response = client.post(address, fields, follow=True)
    assert "Unarchived “A talk”." in parse_page(response).text
    assert not parse_page(response).find_all(name="do", value="unarchive")
    assert not Conversation.objects.get(pk=world.conversation.pk).archived


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ConversationBusy(LockHeld(LockHolder(session="jpweb")))
    monkeypatch.setattr(metadata_file, "apply_change", Mock(side_effect=error))


@pytest.mark.parametrize("from_page", ["", "/facts", "/facts?list=q%3Dx"])
@pytest.mark.parametrize(
    ("action", "field", "text"),
    [("rename", "title", "<New>"), ("rename", "title", ""), ("label", "label", "area=x")],
)
def test_title_or_label_that_is_refused_stays_in_its_field(
    world: World, busy: None, from_page: str, action: str, field: str, text: str
):
    url = f"/conversations/{world.conversation.pk}"
    form = {"do": action, field: text, "next": f"{url}{from_page}"}
    response = world.client("responder").post(f"{url}/change", form)
    page = parse_page(response)
    assert response.status_code == 422
    assert page.find_one(role="alert").text.startswith("A turn is running")
    inputs = {tag["name"]: tag.get("value", "") for tag in page if tag.tag == "input"}
    expected = {"title": "A talk", "label": ""} | {field: text, "next": form["next"]}
    assert {name: inputs[name] for name in expected} == expected


@pytest.mark.parametrize("form", [{}, {"do": ""}, {"do": "unlabel"}])
def test_change_without_an_action_or_its_field_is_refused(world: World, form: dict[str, str]):
    response = world.client("responder").post(
        f"/conversations/{world.conversation.pk}/change", form, follow=True
    )
    assert "Choose what to change." in parse_page(response).text
    assert Conversation.objects.get(pk=world.conversation.pk).title == "A talk"


def test_invalid_label_stays_in_its_field(world: World):
    response = change(world, do="label", label="1bad", next="")
    page = parse_page(response)
    assert response.status_code == 422
    assert "“1bad” is not a valid label name" in page.find_one(role="alert").text
    assert page.find_one(name="label")["value"] == "1bad"
    page_url = f"/conversations/{world.conversation.pk}"
    assert {tag["value"] for tag in page.find_all(name="next")} == {page_url}


def test_title_for_a_conversation_that_became_read_only_is_shown(world: World):
    Conversation.objects.update(origin="mirrored")
    response = change(world, do="rename", title="New words", next="")
    page = parse_page(response)
    assert response.status_code == 422
    assert page.text.count("to enable writing on its People page") == 1
    assert "New words" in page.text
    assert not page.find_all(name="title")


@pytest.mark.parametrize("action", ["pin", "unlabel"])
def test_refused_press_of_a_button_leads_back(world: World, busy: None, action: str):
    response = change(world, do=action, label="k")
    assert response.redirect_chain == [(f"/conversations?q=talk#c{world.conversation.pk}", 302)]
    assert "A turn is running" in parse_page(response).text


@pytest.mark.parametrize(
    "target_url", ["//evil.example", "https://evil.example/", "evil", "/\\evil.x"]
)
def test_conversation_change_does_not_redirect_to_other_sites(world: World, target_url: str):
    response = change(world, do="pin", next=target_url)
    assert response.redirect_chain == [(f"/conversations/{world.conversation.pk}", 302)]


def test_a_change_is_announced_to_those_who_look(world: World, monkeypatch: pytest.MonkeyPatch):
    stub = AsyncMock()
    monkeypatch.setattr(publisher, "publish_conversation_changed", stub)
    change(world, do="label", label="a b")
    stub.assert_not_awaited()
    change(world, do="pin")
    stub.assert_awaited_once_with(world.conversation.pk)


def test_mirrored_conversation_shows_why_it_cannot_be_changed(world: World):
    Conversation.objects.update(origin="mirrored")
    reason = "an owner of Garden to enable writing on its People page"
    page = parse_page(
        world.client("responder").get(f"/conversations/{world.conversation.pk}/facts")
    )
    assert reason in page.text
    assert not [tag for tag in page if tag.get("name") == "do"]
    assert reason in parse_page(change(world, do="pin")).text
    assert not parse_page(world.client("responder").get("/conversations")).find_all(value="pin")


def test_conversation_change_controls_are_for_responders(world: World):
    for person_name, may_change in (("reader", False), ("responder", True)):
        page = parse_page(world.client(person_name).get("/conversations"))
        buttons = [tag for tag in page if tag.get("name") == "do"]
        assert bool(buttons) is may_change
        assert (
            bool(page.find_all(href=f"/conversations/{world.conversation.pk}/facts")) is may_change
        )


async def test_a_page_hears_of_another_title_label_or_pin_once(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(shared_world.people["reader"], **hello | {"questions": []}) as socket:
        await socket.receive_all()
        for metadata_change, text in (
            (metadata_file.make_title_change("<New> words"), "<New> words"),
            (metadata_file.make_label_change("area=x"), "area=x"),
            (metadata_file.MetadataChange(pinned=True), "Pinned: "),
        ):
            await run_in_db_thread(
                metadata_file.apply_change, shared_world.conversation.pk, metadata_change
            )
            await publisher.publish_conversation_changed(shared_world.conversation.pk)
            html_page = parse_page(await socket.receive_all())
            assert (
                text
                in html_page.find_one(id="heading").text + html_page.find_one(id="metadata").text
            )
            assert not html_page.find_all(id="edit-menu-body")
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        assert await socket.hears_nothing()


async def test_changed_conversation_sends_its_menu_to_responders(shared_world: World):
    hello = await run_in_db_thread(make_hello, shared_world)
    async with connect_page(
        shared_world.people["responder"], **hello | {"questions": []}
    ) as socket:
        await socket.receive_all()
        metadata_change = metadata_file.MetadataChange(title="<New> words", archived=True)
        await run_in_db_thread(
            metadata_file.apply_change, shared_world.conversation.pk, metadata_change
        )
        await publisher.publish_conversation_changed(shared_world.conversation.pk)
        html_page = parse_page(await socket.receive_all())
        assert html_page.find_one(name="title")["value"] == "<New> words"
        assert [
            tag["value"] for tag in html_page.find_all(name="do") if tag["value"] != "unlabel"
        ] == [
            "rename",
            "label",
            "unarchive",
        ]
        assert {tag["value"] for tag in html_page.find_all(name="next")} == {
            f"/conversations/{shared_world.conversation.pk}"
        }
