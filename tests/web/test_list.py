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
from jpweb.store.conversation_list import keyset_merge, paginator
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Membership, ReadMark, Run, Workspace
from jpweb.stream.inquiry import Answered, Redacted
from tests.store import making
from tests.web.reading import Page, Tag, read
from tests.web.world import World, signed_in

HTMX = {"HX-Request": "true"}


def get(world: World, who: str = "reader", **given: Any) -> Any:
    htmx = given.pop("htmx", False)
    headers = HTMX if htmx else {}
    response = world.client(who).get(f"/conversations?{urlencode(given)}", headers=headers)
    assert response.status_code == 200
    return response


def rows(page: Page) -> list[Tag]:
    return [tag for tag in page if "data-conversation" in tag]


def titles(response: Any) -> list[str]:
    links = [tag for tag in read(response) if tag.get("class") == "row-link"]
    return [tag.text.removeprefix("★Pinned: ").strip() for tag in links]


def counts(page: Page, row: Tag) -> dict[str, str]:
    return {t["data-count"]: t.text for t in page if "data-count" in t and row in t.parents}


def test_a_row_says_title_place_and_what_is_in_it(world: World):
    making.settle(making.question(world.run), Answered(True))
    making.settle(making.question(world.run), Redacted())
    page = read(get(world))
    (row,) = rows(page)
    assert row["data-conversation"] == str(world.talk.jp_id)
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
    (row,) = rows(read(get(world)))
    for part in ("area=<b>", "flag", "Pinned", "events.json: gone"):
        assert part in row.text
    assert "flag=" not in row.text


def test_pinned_ones_come_first_and_archived_ones_on_request(world: World):
    changed: dict[str, dict[str, Any]] = {
        "pinned": {"pinned_at": timezone.now()},
        "stored": {"archived": True},
        "other": {},
    }
    for name, values in changed.items():
        made = making.conversation(world.home, name)
        Conversation.objects.filter(pk=made.pk).update(**values)
    assert titles(get(world)) == ["pinned", "other", "A talk"]
    assert titles(get(world, archived="1")) == ["stored"]


@pytest.mark.parametrize(
    ("words", "found"),
    [("rose", ["Red roses", "ROSES"]), ("red rose", ["Red roses"]), ("ö", ["Größe"])]
    + [("%", []), ("_", []), ("'", []), ("red\0ose", ["Red roses"])]
    + [(blank, ["Größe", "Red roses", "ROSES", "A talk"]) for blank in ("  ", "\0")],
)
def test_every_word_of_the_filter_must_be_there(world: World, words: str, found: list[str]):
    for title in ("ROSES", "Red roses", "Größe"):
        making.conversation(world.home, title)
    assert titles(get(world, q=words)) == found


def test_a_filter_that_finds_nothing_says_so(world: World):
    page = read(get(world, q="<nothing>"))
    assert "No conversation has “<nothing>” in its title" in page.text
    assert page.one(id="q")["value"] == "<nothing>"
    assert "No archived conversations" in read(get(world, archived="1")).text
    assert "No conversations yet" in read(get(world, "outsider")).text


def test_htmx_gets_the_list_alone(world: World):
    page = read(get(world, htmx=True, q="talk"))
    assert page.one(id="list")
    assert not page.all(id="main")
    assert len(rows(page)) == 1


def test_a_row_leads_to_what_is_new_and_says_how_much(world: World):
    ReadMark.objects.create(
        person=world.people["reader"], conversation=world.talk, entry_count=1, at=timezone.now()
    )
    making.prompt(world.run)
    page = read(get(world))
    (row,) = rows(page)
    assert counts(page, row)["new"] == "3"
    assert counts(page, row)["approvals"] == "1"
    assert page.one(**{"class": "row-link"})["href"] == f"/conversations/{world.talk.pk}?at=new"


def test_orders_and_filters_are_in_the_address_and_on_the_page(world: World):
    talk = making.conversation(world.home, "labelled")
    Conversation.objects.filter(pk=talk.pk).update(
        labels={"area": "x"}, entry_count=99, problem="odd"
    )
    assert titles(get(world, sort="length")) == ["labelled", "A talk"]
    assert titles(get(world, sort="waiting")) == titles(get(world, has="waiting")) == ["A talk"]
    for given in ({"label": "area=x"}, {"has": "problem"}, {"q": "lab", "origin": "native"}):
        assert titles(get(world, **given)) == ["labelled"]
    assert titles(get(world, workspace=world.home.pk)) == ["labelled", "A talk"]
    assert titles(get(world, workspace=world.elsewhere.pk)) == []
    page = read(get(world, label="area=<x>", sort="length", origin="mirrored"))
    assert page.one(name="label")["value"] == "area=<x>"
    chosen = [tag["value"] for tag in page if tag.tag == "option" and "selected" in tag]
    assert chosen == ["length", "mirrored"]
    assert "No matching conversations" in page.text


@pytest.mark.parametrize(
    "given", [{"sort": "colour"}, {"origin": "<b>"}, {"has": "x"}, {"workspace": "9" * 30}]
)
def test_what_nobody_understands_is_named_and_the_rest_is_shown(
    world: World, given: dict[str, str]
):
    response = get(world, **given)
    ((name, value),) = given.items()
    assert f"Unknown filter: {name}={value}" in " ".join(read(response).text.split())
    assert titles(response) == ["A talk"]


def test_a_look_that_ended_before_the_list_says_so_and_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset_merge, "MAX_SCANNED_ROWS", 3)
    monkeypatch.setattr(keyset_merge, "_MIN_SCANNED_ROWS", 3)
    for n in range(5):
        making.conversation(world.home, f"new {n}")
    page = read(get(world, q="talk"))
    assert "No matches in the 3 conversations searched" in page.text
    (more,) = page.all(rel="next")
    found = get(world, **{k: v[0] for k, v in parse_qs(more["href"].lstrip("?")).items()})
    assert titles(found) == ["A talk"]


def test_the_way_back_leads_to_the_page_before(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 2)
    for n in range(5):
        making.conversation(world.home, f"talk {n}")

    def follow(response: Any, rel: str) -> Any:
        (way,) = read(response).all(rel=rel)
        return get(world, **{k: v[0] for k, v in parse_qs(way["href"].lstrip("?")).items()})

    first = get(world, sort="length", q="talk")
    second = follow(first, "next")
    third = follow(second, "next")
    assert titles(follow(third, "prev")) == titles(second)
    assert titles(follow(second, "prev")) == titles(first)
    assert not read(first).all(rel="prev")
    assert not read(third).all(rel="next")


def test_nothing_of_other_workspaces_is_listed(world: World):
    making.conversation(world.elsewhere, "Private")
    assert titles(get(world)) == ["A talk"]
    assert titles(get(world, "rival")) == ["Private"]
    assert titles(get(world, "outsider")) == []


def test_the_pages_cover_every_conversation_once(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paginator, "PAGE_ROWS", 3)
    for n in range(10):
        making.conversation(world.home, f"talk {n}")
    seen: list[str] = []
    given: dict[str, Any] = {"q": "talk"}
    for _ in range(10):
        response = get(world, **given)
        seen += titles(response)
        more = [
            t["href"] for t in read(response) if t.text == "Older conversations" and t.tag == "a"
        ]
        if not more:
            break
        given = {key: value[0] for key, value in parse_qs(more[0].lstrip("?")).items()}
        assert given["q"] == "talk"
    assert len(seen) == len(set(seen)) == 11


@pytest.mark.parametrize(
    "before", ["x", "nan_1", "inf_1", "1e99_1", "_", "-1e12_5", "1_" + "9" * 30]
)
def test_an_odd_continuation_is_no_crash(world: World, before: str):
    get(world, before=before)


def test_the_demo_is_listed_with_what_the_files_hold(world: World):
    home, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(person=world.people["outsider"], workspace=home, role=Role.READER)
    page = read(get(world, "outsider"))
    assert len(rows(page)) == 4
    for row in rows(page):
        kept = Conversation.objects.get(jp_id=row["data-conversation"])
        assert counts(page, row)["events"] == str(kept.entry_count)
        states = {k: v for k, v in counts(page, row).items() if k not in ("events", "turns")}
        assert sum(map(int, states.values())) == kept.inquiries.count()
    assert "pinned" in rows(page)[0]["class"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> AsyncMock:
    stub = AsyncMock()
    monkeypatch.setattr(runs, "start_turn", stub)
    return stub


def begin(world: World, who: str = "responder", **data: Any) -> Any:
    return world.client(who).post("/conversations/new", data)


def test_a_conversation_begins_with_what_is_said(world: World, started: AsyncMock):
    text = "First line " + "x" * 100 + "\nsecond"
    response = begin(world, workspace=world.home.pk, text=f"  {text}  ")
    made = Conversation.objects.latest("pk")
    assert response["Location"] == f"/conversations/{made.pk}"
    assert (made.origin, made.title) == ("native", text[:60])
    assert made.started_by == world.people["responder"]
    started.assert_awaited_once()
    assert started.await_args is not None
    assert started.await_args.args[2] == text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "Choose a workspace."),
        ({"text": "Hi"}, "Choose a workspace."),
        ({"workspace": "1e9", "text": "Hi <b>"}, "Choose a workspace."),
    ],
)
def test_without_a_workspace_nothing_begins(
    world: World, started: AsyncMock, data: dict[str, str], said: str
):
    before = Conversation.objects.count()
    response = begin(world, **data)
    page = read(response)
    assert response.status_code == 422
    assert said in page.one(role="alert").text
    assert page.one(id="text").text == data.get("text", "")
    assert Conversation.objects.count() == before
    started.assert_not_awaited()


def test_nobody_begins_in_a_workspace_of_others(world: World, started: AsyncMock):
    for who, home in (("rival", world.home), ("responder", world.elsewhere)):
        assert begin(world, who, workspace=home.pk, text="Hi").status_code == 422
    Membership.objects.create(
        person=world.people["responder"], workspace=world.elsewhere, role=Role.READER
    )
    assert begin(world, workspace=world.elsewhere.pk, text="Hi").status_code == 422
    started.assert_not_awaited()


def test_saying_nothing_begins_nothing(world: World, started: AsyncMock):
    response = begin(world, workspace=world.home.pk, text=" \n ")
    assert response.status_code == 422
    assert "Enter a message." in read(response).one(role="alert").text


def test_refused_message_names_its_problem_and_keeps_the_workspace(
    world: World, started: AsyncMock
):
    page = read(begin(world, workspace=world.home.pk, text=" "))
    field = page.one(id="text")
    assert field["aria-invalid"] == "true"
    assert page.one(id=field["aria-describedby"]).text == "Enter a message."
    (option,) = [tag for tag in page if tag.tag == "option" and "selected" in tag]
    assert option["value"] == str(world.home.pk)


def test_the_form_says_that_a_script_plays(world: World):
    page = read(world.client("responder").get("/conversations/new"))
    assert "script" in page.text
    assert [tag.text for tag in page if tag.tag == "option"] == ["Garden (scripted/script)"]


def test_asking_nothing_and_asking_twice_are_told(world: World):
    client = signed_in(world.people["responder"])
    url = f"/conversations/{world.talk.pk}/turns"
    assert "Enter a message." in read(client.post(url, {"text": " "}, follow=True)).text
    refused = client.post(url, {"text": "More than that"})
    assert refused.status_code == 422
    assert "A turn is already running" in read(refused).text, "the world's run goes on"
    assert "More than that" in read(refused).text, "what was typed is not lost"


def test_what_a_bad_configuration_refuses_is_not_lost_and_names_the_file(
    world: World, tmp_path: Path
):
    (tmp_path / ".jp").mkdir()
    (tmp_path / ".jp" / "config.toml").write_text("[assistant]\nmodel = 7\n")
    Workspace.objects.filter(pk=world.home.pk).update(root=str(tmp_path))
    client, said = signed_in(world.people["responder"]), {"text": "Go on then"}
    begun = client.post("/conversations/new", {**said, "workspace": world.home.pk})
    Run.objects.all().delete()
    asked = client.post(f"/conversations/{world.talk.pk}/turns", said)
    for page in (begun, asked):
        assert page.status_code == 422
        assert ".jp/config.toml: assistant.model" in read(page).text
        assert "Go on then" in read(page).text
    assert not Run.objects.exists()


def test_stopping_what_does_not_run_is_told(world: World):
    runs_in_store.end_run(world.run, RunState.DONE)
    client = signed_in(world.people["responder"])
    page = client.post(f"/conversations/{world.talk.pk}/stop", follow=True)
    assert "No turn is running." in read(page).text


def test_stopping_names_who_stopped(world: World, monkeypatch: pytest.MonkeyPatch):
    stub = AsyncMock(return_value=True)
    monkeypatch.setattr(runs, "stop_run", stub)
    world.client("responder").post(f"/conversations/{world.talk.pk}/stop")
    stub.assert_awaited_once_with(world.talk.pk, making.decider(world.people["responder"]))
