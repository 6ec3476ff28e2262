from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability
from jpweb.store.models import Trust
from jpweb.store.workspace_config import overrides
from jpweb.web import display_text
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import MEMBERS, World

CONFIG = r"""
assistant.name = "JP"
assistant.model.id = "anthropic/claude"
nonsense = 1
[conversation.tools.t]
source = "local"
command = "run <script>alert(1)</script> \u202eevil"
summary = "<b>bold</b>\nsecond line"
run = "ask"
[conversation.tools.t.questions.overwrite]
target = "assistant"
answer = "s3cret-answer"
[conversation.tools.t.questions.who]
exclusive = true
prompt_label = "<i>Me</i>"
[conversation.tools.same]
source = "local"
command = "run <script>alert(1)</script> \u202eevil"
[conversation.tools.locked]
source = "builtin"
enable = "always"
[providers.llm.anthropic]
api_key_env = "ANTHROPIC_API_KEY"
[providers.mcp.s]
url = "https://x.example"
headers = {Authorization = "Bearer s3cret-token"}
"""


@pytest.fixture
def configured_world(world: World, tmp_path: Path) -> World:
    (tmp_path / ".jp").mkdir()
    (tmp_path / ".jp" / "config.toml").write_text(CONFIG)
    world.workspace.root = str(tmp_path)
    world.workspace.save()
    return world


def address(world: World, suffix: str = "") -> str:
    return f"/workspaces/{world.workspace.pk}/tools{suffix}"


def page(world: World, person_name: str = "owner") -> ParsedPage:
    html_page = parse_page(world.client(person_name).get(address(world)))
    assert (html_page.crossed, html_page.unclosed) == ([], [])
    return html_page


def post(world: World, action: str, **data: Any) -> ParsedPage:
    return parse_page(world.client("owner").post(address(world, f"/{action}"), data, follow=True))


def things(html_page: ParsedPage, section: str = "waiting") -> list[str]:
    return [
        tag["value"]
        for tag in html_page.find_all(name="item")
        if tag.inside(**{"data-section": section})
        and tag.parents[-1]["action"].endswith("/trust")
        and "data-trust-all" not in tag.parents[-1]
    ]


def edit(world: World, old: str, new: str) -> None:
    file = Path(world.workspace.root) / ".jp" / "config.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def row(html_page: ParsedPage, name: str) -> str:
    return html_page.find_one(**{"data-tool": name}).text


@pytest.mark.parametrize("person_name", MEMBERS)
def test_tools_page_lists_tools_to_all_members(configured_world: World, person_name: str):
    html_page = page(configured_world, person_name)
    assert html_page.find_one(**{"data-model": "anthropic/claude"})
    row_text = row(html_page, "t")
    for part in ("<b>bold</b>", "not trusted yet", "required", "overwrite", "model", "local"):
        assert part in row_text
    assert "second line" not in row_text
    assert "human answer required" in row_text
    assert "shown as “<i>Me</i>”" in row_text
    assert html_page.find_one(**{"data-tool": "ask_user"})["data-offered"] == "yes"
    assert ".jp/config.toml: nonsense is not known" in html_page.find_one(**{"data-note": ""}).text


@pytest.mark.parametrize("person_name", MEMBERS)
def test_a_configured_answer_and_a_token_are_on_no_page(configured_world: World, person_name: str):
    html = configured_world.client(person_name).get(address(configured_world)).content.decode()
    assert "s3cret" not in html
    assert "configured answer" in html


def test_tools_page_shows_if_a_key_is_set_and_never_the_key(
    configured_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-s3cret")
    html_page = page(configured_world, "reader")
    assert "ANTHROPIC_API_KEY set" in html_page.find_one(**{"data-provider": "anthropic"}).text
    assert "s3cret" not in html_page.text
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert "not set" in page(configured_world).find_one(**{"data-provider": "anthropic"}).text


@pytest.mark.parametrize("person_name", [who for who in MEMBERS if who != "owner"])
def test_tools_page_has_forms_for_owners_only(configured_world: World, person_name: str):
    html_page = page(configured_world, person_name)
    actions = {tag.get("action", "") for tag in html_page if tag.tag == "form"}
    assert not any("/tools/" in action for action in actions)
    assert not html_page.find_all(id="overrides")
    assert "argument 1" not in html_page.text


def test_tools_page_shows_commands_escaped_and_complete(configured_world: World):
    html = configured_world.client("owner").get(address(configured_world)).content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    group = page(configured_world).find_one(**{"data-trust-item": "t, same"})
    assert "program: run\nargument 1: <script>alert(1)</script>\nargument 2: \\u202eevil" in (
        group.text
    )


def test_tools_page_groups_tools_with_equal_commands(configured_world: World):
    assert len(things(page(configured_world))) == 3
    group = page(configured_world).find_one(**{"data-trust-item": "t, same"})
    html_page = post(
        configured_world, "trust", item=[v for v in things(page(configured_world)) if "tool" in v]
    )
    assert "Trusted: t, same." in html_page.text
    assert group["data-trust-state"] == "new"
    assert {row.name for row in Trust.objects.all()} == {"t", "same"}
    assert page(configured_world).find_one(**{"data-tool": "t"})["data-offered"] == "yes"


def test_tools_of_one_command_have_their_gates_side_by_side_on_one_card(
    configured_world: World,
):
    html_page = page(configured_world)
    card = html_page.find_one(**{"data-trust-item": "t, same"})
    gates = {
        tag["data-gates"]: tag.text
        for tag in html_page
        if card in tag.parents and "data-gates" in tag
    }
    assert set(gates) == {"t", "same"}
    assert "question overwrite: configured answer (not shown); answered by" in gates["t"]
    assert "question who: human answer required" in gates["t"]
    assert "question" not in gates["same"]
    assert "approval: required" in gates["same"]


def test_a_gate_that_a_file_drops_is_shown_and_asked_about(configured_world: World):
    post(configured_world, "trust", item=things(page(configured_world)))
    edit(configured_world, 'run = "ask"', 'run = "unattended"')
    html_page = page(configured_world)
    assert "changed since it was trusted" in row(html_page, "t")
    assert html_page.find_one(**{"data-tool": "same"})["data-offered"] == "yes"
    changed_tag = html_page.find_one(**{"data-trust-item": "t"})
    assert [tag.text for tag in html_page if tag.tag == "ins" and changed_tag in tag.parents] == [
        "now: + approval: none"
    ]


def test_tools_page_marks_a_changed_key_without_its_value(configured_world: World):
    post(configured_world, "trust", item=things(page(configured_world)))
    edit(configured_world, "s3cret-token", "other-token")
    html_page = page(configured_world)
    card = html_page.find_one(**{"data-trust-item": "s"})
    assert card["data-trust-state"] == "changed"
    assert [tag.text for tag in html_page if tag.tag == "ins" and card in tag.parents] == [
        "now: + (a value that is not shown has changed)"
    ]
    assert "token" not in html_page.text


def test_tools_page_hides_fingerprints_of_secrets(configured_world: World):
    html = configured_world.client("owner").get(address(configured_world)).content.decode()
    for thing in configuration.load_workspace_config(configured_world.workspace).trust_statuses:
        assert thing.item.fingerprint[:16] not in html
        assert thing.item.fingerprint[48:] not in html


def test_tools_page_trusts_all_shown_items_with_one_form(configured_world: World):
    html_page = page(configured_world)
    values = [
        tag["value"]
        for tag in html_page.find_all(name="item")
        if "data-trust-all" in tag.parents[-1]
    ]
    assert sorted(values) == sorted(things(html_page))
    post(configured_world, "trust", item=values)
    html_page = page(configured_world)
    assert things(html_page) == []
    assert html_page.find_one(**{"data-tool": "t"})["data-offered"] == "yes"
    assert not html_page.find_all(**{"data-section": "waiting"})


def test_tools_page_states_the_user_of_commands_and_who_may_trust(configured_world: World):
    text = page(configured_world).find_one(**{"data-section": "waiting"}).text
    assert "runs as the server's user" in text
    assert "An owner of any workspace on this server can trust" in text


def test_a_built_in_whose_gates_are_opened_has_a_card_of_its_own(configured_world: World):
    edit(configured_world, "nonsense = 1", "conversation.tools.ask_user.detached = 'auto'")
    html_page = page(configured_world)
    card = html_page.find_one(**{"data-trust-item": "ask_user"})
    assert "Approval settings of a built-in tool" in card.text
    assert "questions, if no one can answer: answered by a second model" in card.text
    assert html_page.find_one(**{"data-tool": "ask_user"})["data-offered"] == "no"


def test_tools_page_switches_all_but_locked_and_explicit_tools(configured_world: World):
    html_page = post(configured_world, "switch", to="off")
    assert (
        "All tools are now disabled. Not changed (locked, or enabled only by name): ask_user, "
        "describe_tools, locked."
    ) in html_page.text
    offered_names = {tag["data-tool"] for tag in html_page.find_all(**{"data-offered": "yes"})}
    assert offered_names == {"ask_user", "describe_tools"}
    assert "disabled" in row(html_page, "t")
    assert "not included" in page(configured_world).find_one(**{"data-switch-all": ""}).text
    html_page = post(configured_world, "switch", to="on")
    assert "All tools are now enabled." in html_page.text
    assert "Not changed" not in html_page.text


@pytest.mark.parametrize("person_name", MEMBERS)
def test_a_key_in_an_address_is_on_no_page(configured_world: World, person_name: str):
    edit(
        configured_world,
        'api_key_env = "ANTHROPIC_API_KEY"',
        'base_url = "https://me:s3cret@own.example/?key=s3cret"',
    )
    edit(configured_world, "https://x.example", "https://me:s3cret@x.example/?key=s3cret")
    html = configured_world.client(person_name).get(address(configured_world)).content.decode()
    assert "s3cret" not in html
    assert "https://…@own.example/?…" in html
    edit(configured_world, "https://me:s3cret@x.example", "htps://me:s3cret@x.example")
    html = configured_world.client(person_name).get(address(configured_world)).content.decode()
    assert "s3cret" not in html
    assert "providers.mcp.s.url" in html


def test_tools_page_shows_a_changed_command_as_a_diff_to_trust(configured_world: World):
    post(configured_world, "trust", item=things(page(configured_world)))
    assert things(page(configured_world)) == []
    edit(configured_world, "alert(1)", "alert(2)")
    html_page = page(configured_world)
    group = html_page.find_one(**{"data-trust-item": "t, same"})
    assert group["data-trust-state"] == "changed"
    inside = [tag for tag in html_page if group in tag.parents]
    assert [tag.text for tag in inside if tag.tag == "del"] == [
        "was: \N{MINUS SIGN} argument 1: <script>alert(1)</script>"
    ]
    assert [tag.text for tag in inside if tag.tag == "ins"] == [
        "now: + argument 1: <script>alert(2)</script>"
    ]
    assert "changed since it was trusted" in row(html_page, "t")
    post(configured_world, "trust", item=things(html_page))
    assert page(configured_world).find_one(**{"data-tool": "t"})["data-offered"] == "yes"


def test_tools_page_refuses_trust_of_a_tool_changed_meanwhile(configured_world: World):
    thing_values = things(page(configured_world))
    edit(configured_world, "alert(1)", "alert(2)")
    html_page = post(configured_world, "trust", item=thing_values)
    assert "has changed since you opened the page" in html_page.text
    assert not Trust.objects.exists()


@pytest.mark.parametrize("thing", ["", "x", "x tool", "x tool t", "x nonsense t", "\0 tool \ud800"])
def test_tools_page_refuses_trust_of_unknown_items(configured_world: World, thing: str):
    data = {"item": thing.encode(errors="replace")}
    response = configured_world.client("owner").post(address(configured_world, "/trust"), data)
    assert response.status_code == 302
    assert not Trust.objects.exists()


def test_trust_is_withdrawn(configured_world: World):
    thing_values = things(page(configured_world))
    post(configured_world, "trust", item=thing_values)
    assert (
        "trusted by Owner" in page(configured_world).find_one(**{"data-trust-item": "t, same"}).text
    )
    html_page = post(
        configured_world, "withdraw", item=[value for value in thing_values if " t" in value]
    )
    assert "No longer trusted" in html_page.text
    assert page(configured_world).find_one(**{"data-tool": "t"})["data-offered"] == "no"


def test_a_tool_is_switched_where_that_is_allowed(configured_world: World):
    html_page = post(configured_world, "switch", tool="ask_user", to="off")
    assert "ask_user is now disabled." in html_page.text
    assert "disabled" in row(html_page, "ask_user")
    html_page = post(configured_world, "switch", tool="ask_user", to="on")
    assert html_page.find_one(**{"data-tool": "ask_user"})["data-offered"] == "yes"
    assert "locked (enabled)" in row(html_page, "locked")
    assert "is locked (enabled)" in post(configured_world, "switch", tool="locked", to="off").text
    assert "Unknown tool" in post(configured_world, "switch", tool="<b>", to="off").text


def test_tools_page_refuses_a_switch_without_a_state(configured_world: World):
    for fields in ({"tool": "ask_user"}, {"all": ""}):
        html_page = post(configured_world, "switch", **fields)
        assert "Choose what to change." in html_page.text
        assert html_page.find_one(**{"data-tool": "ask_user"})["data-offered"] == "yes"


def test_overrides_are_saved_and_shown_as_typed(configured_world: World):
    text = "# why <b>\n\n[assistant]\nname = 'X'\n"
    data = {"overrides": text.replace("\n", "\r\n"), "overrides_hash": overrides.hash_text("")}
    html_page = post(configured_world, "overrides", **data)
    assert "Saved the overrides." in html_page.text
    assert html_page.find_one(id="overrides").text.removeprefix("\n") == text
    configured_world.workspace.refresh_from_db()
    assert configured_world.workspace.overrides == text


@pytest.mark.parametrize("bad", ["a = = 1", "assistant.name = 1", "conversation.tools.x = {}"])
def test_overrides_that_are_refused_stay_in_the_field(configured_world: World, bad: str):
    text_hash = overrides.hash_text("")
    response = configured_world.client("owner").post(
        address(configured_world, "/overrides"), {"overrides": bad, "overrides_hash": text_hash}
    )
    assert response.status_code == 422
    html_page = parse_page(response)
    assert html_page.find_one(id="overrides").text.strip() == bad
    assert (
        html_page.find_one(id="overrides")["aria-describedby"]
        == html_page.find_one(role="alert")["id"]
    )
    assert html_page.find_one(role="alert").text.startswith("Not saved. overrides: ")
    configured_world.workspace.refresh_from_db()
    assert configured_world.workspace.overrides == ""


def test_tools_page_refuses_overrides_based_on_a_stale_version(configured_world: World):
    text_hash = page(configured_world).find_one(name="overrides_hash")["value"]
    post(configured_world, "overrides", overrides="# one", overrides_hash=text_hash)
    html_page = post(configured_world, "overrides", overrides="# two", overrides_hash=text_hash)
    assert "Someone else saved" in html_page.find_one(role="alert").text
    assert html_page.find_one(id="overrides").text.strip() == "# two"
    assert "# one" in html_page.text
    post(
        configured_world,
        "overrides",
        overrides="# two",
        overrides_hash=html_page.find_one(name="overrides_hash")["value"],
    )
    configured_world.workspace.refresh_from_db()
    assert configured_world.workspace.overrides == "# two"


@pytest.mark.parametrize("person_name", MEMBERS)
def test_tools_page_shows_the_problem_of_a_broken_configuration(
    configured_world: World, person_name: str
):
    edit(configured_world, 'run = "ask"', 'run = "sometimes"')
    html_page = page(configured_world, person_name)
    assert html_page.find_one(**{"data-problem": ""}).text == (
        '.jp/config.toml: conversation.tools.t.run is "sometimes". '
        "It must be ask, unattended, edit or skip."
    )
    assert html_page.find_one(**{"data-tool": "ask_user"})["data-offered"] == "no"
    conversation = f"/conversations/{configured_world.conversation.pk}"
    assert configured_world.client(person_name).get(conversation).status_code == 200


def test_tools_page_is_linked_from_settings_and_people(world: World):
    for person_name in MEMBERS:
        for path in ("/settings", "/go"):
            page_text = world.client(person_name).get(path).content.decode()
            assert f'href="{address(world)}"' in page_text
    people = world.client("owner").get(f"/workspaces/{world.workspace.pk}/people").content.decode()
    assert people.count(f'href="{address(world)}"') == 1
    assert ": Tools" not in world.client("outsider").get("/go").content.decode()


def test_unavailable_labels_cover_all_tool_availabilities():
    assert set(display_text.UNAVAILABLE_LABELS) == {reason.name for reason in ToolAvailability} - {
        "OFFERED"
    }
