"""The list of conversations, and beginning one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock
from urllib.parse import parse_qs, urlencode

import pytest
from django.utils import timezone

from jpweb.runtime import runs
from jpweb.store import runs as runs_in_store
from jpweb.store.choices import Role, RunState
from jpweb.store.conversation_list import paginator
from jpweb.store.inquiries import Decider
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Membership, ReadMark, Run, Workspace
from jpweb.store.sql import keyset_merge
from jpweb.stream.inquiry import Answered, Redacted
from tests.store import making
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import World, signed_in

HTMX = {"HX-Request": "true"}


def get(world: World, person_name: str = "reader", **filters: Any) -> Any:
    htmx = filters.pop("htmx", False)
    headers = HTMX if htmx else {}
    response = world.client(person_name).get(
        f"/conversations?{urlencode(filters)}", headers=headers
    )
    assert response.status_code == 200
    return response


def rows(page: ParsedPage) -> list[Tag]:
    return [tag for tag in page if "data-conversation" in tag]


def titles(response: Any) -> list[str]:
    links = [tag for tag in parse_page(response) if tag.get("class") == "row-link"]
    return [tag.text.removeprefix("★Pinned: ").strip() for tag in links]


def counts(page: ParsedPage, row: Tag) -> dict[str, str]:
    return {t["data-count"]: t.text for t in page if "data-count" in t and row in t.parents}


def test_conversation_row_has_title_workspace_and_counts(world: World):
    making.settle(making.question(world.run), Answered(True))
    making.settle(making.question(world.run), Redacted())
    page = parse_page(get(world))
    (row,) = rows(page)
    assert row["data-conversation"] == str(world.conversation.jp_id)
    assert counts(page, row) == {
        "events": "8", "turns": "1", "open": "1", "answered": "1", "redacted": "1"
    }  # fmt: skip
    for part in ("A talk", "Garden", "Web"):
        assert part in row.text
    (when,) = [tag for tag in page if tag.tag == "time"]
    assert when["datetime"].startswith("2026-01-02T03:04:05")


def test_a_row_shows_labels_pins_and_problems(world: World):
    Conversation.objects.update(
        labels={"area": "<b>", "flag": ""}, pinned_at=timezone.now(), problem="events.json: gone"
    )
    (row,) = rows(parse_page(get(world)))
    for part in ("area=<b>", "flag", "Pinned", "events.json: gone"):
        assert part in row.text
    assert "flag=" not in row.text


def test_pinned_ones_come_first_and_archived_ones_on_request(world: World):
    changes: dict[str, dict[str, Any]] = {
        "pinned": {"pinned_at": timezone.now()},
        "stored": {"archived": True},
        "other": {},
    }
    for name, values in changes.items():
        conversation = making.conversation(world.workspace, name)
        Conversation.objects.filter(pk=conversation.pk).update(**values)
    assert titles(get(world)) == ["pinned", "other", "A talk"]
    assert titles(get(world, archived="1")) == ["stored"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [("rose", ["Red roses", "ROSES"]), ("red rose", ["Red roses"]), ("ö", ["Größe"])]
    + [("%", []), ("_", []), ("'", []), ("red\0ose", ["Red roses"])]
    + [(blank, ["Größe", "Red roses", "ROSES", "A talk"]) for blank in ("  ", "\0")],
)
def test_title_filter_requires_every_word(world: World, words: str, expected: list[str]):
    for title in ("ROSES", "Red roses", "Größe"):
        making.conversation(world.workspace, title)
    assert titles(get(world, q=words)) == expected


def test_a_filter_that_finds_nothing_says_so(world: World):
    page = parse_page(get(world, q="<nothing>"))
    assert "No conversation has “<nothing>” in its title" in page.text
    assert page.find_one(id="q")["value"] == "<nothing>"
    for narrowed in ({"workspace": str(world.workspace.pk)}, {"sort": "waiting"}):
        assert (
            "No matching conversations." in parse_page(get(world, q="<nothing>", **narrowed)).text
        )
    assert "No archived conversations" in parse_page(get(world, archived="1")).text
    assert "No conversations yet" in parse_page(get(world, "outsider")).text


def test_htmx_gets_the_list_alone(world: World):
    page = parse_page(get(world, htmx=True, q="talk"))
    assert page.find_one(id="list")
    assert not page.find_all(id="main")
    assert len(rows(page)) == 1


def test_conversation_row_links_to_new_events_with_their_count(world: World):
    ReadMark.objects.create(
        person=world.people["reader"],
        conversation=world.conversation,
        entry_count=1,
        at=timezone.now(),
    )
    making.prompt(world.run)
    page = parse_page(get(world))
    (row,) = rows(page)
    assert counts(page, row)["new"] == "3"
    assert counts(page, row)["approvals"] == "1"
    assert (
        page.find_one(**{"class": "row-link"})["href"]
        == f"/conversations/{world.conversation.pk}?at=new"
    )


def test_orders_and_filters_are_in_the_address_and_on_the_page(world: World):
    conversation = making.conversation(world.workspace, "labelled")
    Conversation.objects.filter(pk=conversation.pk).update(
        labels={"area": "x"}, entry_count=99, problem="odd"
    )
    assert titles(get(world, sort="length")) == ["labelled", "A talk"]
    assert titles(get(world, sort="waiting")) == titles(get(world, has="waiting")) == ["A talk"]
    for filters in ({"label": "area=x"}, {"has": "problem"}, {"q": "lab", "origin": "native"}):
        assert titles(get(world, **filters)) == ["labelled"]
    assert titles(get(world, workspace=world.workspace.pk)) == ["labelled", "A talk"]
    assert titles(get(world, workspace=world.other_workspace.pk)) == []
    page = parse_page(get(world, label="area=<x>", sort="length", origin="mirrored"))
    assert page.find_one(name="label")["value"] == "area=<x>"
    selected_values = [tag["value"] for tag in page if tag.tag == "option" and "selected" in tag]
    assert selected_values == ["length", "mirrored"]
    assert "No matching conversations" in page.text


@pytest.mark.parametrize(
    "filters", [{"sort": "colour"}, {"origin": "<b>"}, {"has": "x"}, {"workspace": "9" * 30}]
)
def test_unknown_filter_is_named_and_ignored(world: World, filters: dict[str, str]):
    response = get(world, **filters)
    ((name, value),) = filters.items()
    assert f"Unknown filter: {name}={value}" in " ".join(parse_page(response).text.split())
    assert titles(response) == ["A talk"]


def test_conversation_search_at_its_scan_limit_offers_to_continue(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 3)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 3)
    for n in range(5):
        making.conversation(world.workspace, f"new {n}")
    page = parse_page(get(world, q="talk"))
    assert "No matches in the 3 conversations searched" in page.text
    (next_link,) = page.find_all(rel="next")
    next_response = get(
        world, **{k: v[0] for k, v in parse_qs(next_link["href"].lstrip("?")).items()}
    )
    assert titles(next_response) == ["A talk"]


def test_the_way_back_leads_to_the_page_before(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    for n in range(5):
        making.conversation(world.workspace, f"talk {n}")

    def follow(response: Any, rel: str) -> Any:
        (way,) = parse_page(response).find_all(rel=rel)
        return get(world, **{k: v[0] for k, v in parse_qs(way["href"].lstrip("?")).items()})

    first = get(world, sort="length", q="talk")
    second = follow(first, "next")
    third = follow(second, "next")
    assert titles(follow(third, "prev")) == titles(second)
    assert titles(follow(second, "prev")) == titles(first)
    assert not parse_page(first).find_all(rel="prev")
    assert not parse_page(third).find_all(rel="next")


def test_conversation_list_excludes_other_workspaces(world: World):
    making.conversation(world.other_workspace, "Private")
    assert titles(get(world)) == ["A talk"]
    assert titles(get(world, "rival")) == ["Private"]
    assert titles(get(world, "outsider")) == []


def test_the_pages_cover_every_conversation_once(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 3)
    for n in range(10):
        making.conversation(world.workspace, f"talk {n}")
    title_list: list[str] = []
    filters: dict[str, Any] = {"q": "talk"}
    for _ in range(10):
        response = get(world, **filters)
        title_list += titles(response)
        next_links = [
            t["href"]
            for t in parse_page(response)
            if t.text == "Older conversations" and t.tag == "a"
        ]
        if not next_links:
            break
        filters = {key: value[0] for key, value in parse_qs(next_links[0].lstrip("?")).items()}
        assert filters["q"] == "talk"
    assert len(title_list) == len(set(title_list)) == 11


@pytest.mark.parametrize(
    "before", ["x", "nan_1", "inf_1", "1e99_1", "_", "-1e12_5", "1_" + "9" * 30]
)
def test_an_odd_continuation_is_no_crash(world: World, before: str):
    get(world, before=before)


@pytest.mark.parametrize("name", ["before", "after"])
@pytest.mark.parametrize("cursor", ["-1_1", "1790000000000000_5", "2147483648_1"])
def test_a_continuation_of_another_order_leads_to_the_first_page(
    world: World, name: str, cursor: str
):
    fields = {"sort": "length", name: cursor}
    assert titles(get(world, **fields)) == titles(get(world, sort="length"))


def test_demo_conversations_are_listed_with_their_counts(world: World):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(
        person=world.people["outsider"], workspace=workspace, role=Role.READER
    )
    page = parse_page(get(world, "outsider"))
    assert len(rows(page)) == 4
    for row in rows(page):
        conversation = Conversation.objects.get(jp_id=row["data-conversation"])
        assert counts(page, row)["events"] == str(conversation.entry_count)
        states = {k: v for k, v in counts(page, row).items() if k not in ("events", "turns")}
        assert sum(map(int, states.values())) == conversation.inquiries.count()
    assert "pinned" in rows(page)[0]["class"]


@pytest.fixture
def start_mock(monkeypatch: pytest.MonkeyPatch) -> AsyncMock:
    stub = AsyncMock()
    monkeypatch.setattr(runs, "start_turn", stub)
    return stub


def begin(world: World, person_name: str = "responder", **data: Any) -> Any:
    return world.client(person_name).post("/conversations/new", data)


def test_new_conversation_starts_with_the_message(world: World, start_mock: AsyncMock):
    text = "First line " + "x" * 100 + "\nsecond"
    response = begin(world, workspace=world.workspace.pk, text=f"  {text}  ")
    conversation = Conversation.objects.latest("pk")
    assert response["Location"] == f"/conversations/{conversation.pk}"
    assert (conversation.origin, conversation.title) == ("native", text[:60])
    assert conversation.started_by == world.people["responder"]
    start_mock.assert_awaited_once()
    assert start_mock.await_args is not None
    assert start_mock.await_args.args[2] == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "Choose a workspace."),
        ({"text": "Hi"}, "Choose a workspace."),
        ({"workspace": "1e9", "text": "Hi <b>"}, "Choose a workspace."),
    ],
)
def test_new_conversation_without_a_workspace_is_refused(
    world: World, start_mock: AsyncMock, data: dict[str, str], message: str
):
    before = Conversation.objects.count()
    response = begin(world, **data)
    page = parse_page(response)
    assert response.status_code == 422
    assert message in page.find_one(role="alert").text
    assert page.find_one(id="text").text == data.get("text", "")
    assert Conversation.objects.count() == before
    start_mock.assert_not_awaited()


def test_new_conversation_in_a_foreign_workspace_is_refused(world: World, start_mock: AsyncMock):
    for person_name, workspace in (
        ("rival", world.workspace),
        ("responder", world.other_workspace),
    ):
        assert begin(world, person_name, workspace=workspace.pk, text="Hi").status_code == 422
    Membership.objects.create(
        person=world.people["responder"], workspace=world.other_workspace, role=Role.READER
    )
    assert begin(world, workspace=world.other_workspace.pk, text="Hi").status_code == 422
    start_mock.assert_not_awaited()


def test_new_conversation_without_text_is_refused(world: World, start_mock: AsyncMock):
    response = begin(world, workspace=world.workspace.pk, text=" \n ")
    assert response.status_code == 422
    assert "Enter a message." in parse_page(response).find_one(role="alert").text


def test_refused_message_names_its_problem_and_keeps_the_workspace(
    world: World, start_mock: AsyncMock
):
    page = parse_page(begin(world, workspace=world.workspace.pk, text=" "))
    field = page.find_one(id="text")
    assert field["aria-invalid"] == "true"
    assert page.find_one(id=field["aria-describedby"]).text == "Enter a message."
    (option,) = [tag for tag in page if tag.tag == "option" and "selected" in tag]
    assert option["value"] == str(world.workspace.pk)


def test_the_form_says_that_a_script_plays(world: World):
    page = parse_page(world.client("responder").get("/conversations/new"))
    assert "script" in page.text
    assert [tag.text for tag in page if tag.tag == "option"] == ["Garden (scripted/script)"]


def test_form_says_where_none_can_start_and_where_a_script_plays(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    place = making.workspace("Kitchen")
    Workspace.objects.filter(pk=place.pk).update(overrides='assistant.model.id = "anthropic/m"')
    responder = world.people["responder"]
    Membership.objects.create(person=responder, workspace=place, role=Role.RESPONDER)
    page = parse_page(world.client("responder").get("/conversations/new"))
    options = [(tag.text, "disabled" in tag) for tag in page if tag.tag == "option"]
    assert options == [("Garden (scripted/script)", False), ("Kitchen (can't start)", True)]
    problem = page.find_one(id="workspace-problems")
    assert "Kitchen: No API key for Anthropic. Set ANTHROPIC_API_KEY" in problem.text
    assert problem.inside(**{"class": "message-form"})
    assert "In Garden, a scripted demo assistant answers" in " ".join(page.text.split())
    Membership.objects.filter(person=responder, workspace=world.workspace).delete()
    page = parse_page(world.client("responder").get("/conversations/new"))
    assert "script" not in page.text


def test_start_turn_refuses_empty_text_and_a_second_turn(world: World):
    client = signed_in(world.people["responder"])
    url = f"/conversations/{world.conversation.pk}/turns"
    assert "Enter a message." in parse_page(client.post(url, {"text": " "}, follow=True)).text
    refusal = client.post(url, {"text": "More than that"}, follow=True)
    assert refusal.status_code == 422
    assert "A turn is already running" in parse_page(refusal).text, "the world's run goes on"
    assert "More than that" in parse_page(refusal).text, "what was typed is not lost"


def test_message_refused_by_a_bad_config_is_kept_and_names_the_file(world: World, tmp_path: Path):
    (tmp_path / ".jp").mkdir()
    (tmp_path / ".jp" / "config.toml").write_text("[assistant]\nmodel = 7\n")
    Workspace.objects.filter(pk=world.workspace.pk).update(root=str(tmp_path))
    client, fields = signed_in(world.people["responder"]), {"text": "Go on then"}
    new_fields = {**fields, "workspace": world.workspace.pk}
    begin_response = client.post("/conversations/new", new_fields, follow=True)
    Run.objects.all().delete()
    url = f"/conversations/{world.conversation.pk}/turns"
    turn_response = client.post(url, fields, follow=True)
    for page in (begin_response, turn_response):
        assert page.status_code == 422
        assert ".jp/config.toml: assistant.model" in parse_page(page).text
        assert "Go on then" in parse_page(page).text
    assert not Run.objects.exists()


def test_stop_without_a_running_turn_is_reported(world: World):
    runs_in_store.end_run(world.run, RunState.DONE)
    client = signed_in(world.people["responder"])
    page = client.post(f"/conversations/{world.conversation.pk}/stop", follow=True)
    assert "No turn is running." in parse_page(page).text


def test_stopping_names_who_stopped(world: World, monkeypatch: pytest.MonkeyPatch):
    stub = AsyncMock(return_value=True)
    monkeypatch.setattr(runs, "stop_run", stub)
    world.client("responder").post(f"/conversations/{world.conversation.pk}/stop")
    member = Decider.from_member(world.people["responder"])
    stub.assert_awaited_once_with(world.conversation.pk, member)
