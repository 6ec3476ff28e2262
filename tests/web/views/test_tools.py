from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability
from jpweb.store.models import Trust
from jpweb.store.workspace_config import overrides
from jpweb.web import display_text
from tests.web.reading import Page, read
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
def configured(world: World, tmp_path: Path) -> World:
    (tmp_path / ".jp").mkdir()
    (tmp_path / ".jp" / "config.toml").write_text(CONFIG)
    world.home.root = str(tmp_path)
    world.home.save()
    return world


def address(world: World, what: str = "") -> str:
    return f"/workspaces/{world.home.pk}/tools{what}"


def page(world: World, who: str = "owner") -> Page:
    found = read(world.client(who).get(address(world)))
    assert (found.crossed, found.unclosed) == ([], [])
    return found


def post(world: World, what: str, **data: Any) -> Page:
    return read(world.client("owner").post(address(world, f"/{what}"), data, follow=True))


def things(found: Page, section: str = "waiting") -> list[str]:
    return [
        tag["value"]
        for tag in found.all(name="item")
        if tag.inside(**{"data-section": section})
        and tag.parents[-1]["action"].endswith("/trust")
        and "data-trust-all" not in tag.parents[-1]
    ]


def edit(world: World, old: str, new: str) -> None:
    file = Path(world.home.root) / ".jp" / "config.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def row(found: Page, name: str) -> str:
    return found.one(**{"data-tool": name}).text


@pytest.mark.parametrize("who", MEMBERS)
def test_everybody_here_reads_what_tools_there_are(configured: World, who: str):
    found = page(configured, who)
    assert found.one(**{"data-model": "anthropic/claude"})
    shown = row(found, "t")
    for part in ("<b>bold</b>", "not trusted yet", "ask", "overwrite", "assistant", "local"):
        assert part in shown
    assert "second line" not in shown
    assert "human answer required" in shown
    assert "shown as “<i>Me</i>”" in shown
    assert found.one(**{"data-tool": "ask_user"})["data-offered"] == "yes"
    assert ".jp/config.toml: nonsense is not known" in found.one(**{"data-note": ""}).text


@pytest.mark.parametrize("who", MEMBERS)
def test_a_configured_answer_and_a_token_are_on_no_page(configured: World, who: str):
    html = configured.client(who).get(address(configured)).content.decode()
    assert "s3cret" not in html
    assert "configured answer" in html


def test_a_key_is_told_to_be_there_and_never_shown(
    configured: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-s3cret")
    found = page(configured, "reader")
    assert "ANTHROPIC_API_KEY set" in found.one(**{"data-provider": "anthropic"}).text
    assert "s3cret" not in found.text
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert "not set" in page(configured).one(**{"data-provider": "anthropic"}).text


@pytest.mark.parametrize("who", [who for who in MEMBERS if who != "owner"])
def test_only_owners_get_forms_and_what_would_run(configured: World, who: str):
    found = page(configured, who)
    actions = {tag.get("action", "") for tag in found if tag.tag == "form"}
    assert not any("/tools/" in action for action in actions)
    assert not found.all(id="overrides")
    assert "argument 1" not in found.text


def test_what_would_run_is_shown_exactly_and_hides_nothing(configured: World):
    html = configured.client("owner").get(address(configured)).content.decode()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    group = page(configured).one(**{"data-trust-item": "t, same"})
    assert "program: run\nargument 1: <script>alert(1)</script>\nargument 2: \\u202eevil" in (
        group.text
    )


def test_one_look_is_enough_for_tools_that_run_the_same(configured: World):
    assert len(things(page(configured))) == 3
    group = page(configured).one(**{"data-trust-item": "t, same"})
    found = post(configured, "trust", item=[v for v in things(page(configured)) if "tool" in v])
    assert "Trusted: t, same." in found.text
    assert group["data-trust-state"] == "new"
    assert {row.name for row in Trust.objects.all()} == {"t", "same"}
    assert page(configured).one(**{"data-tool": "t"})["data-offered"] == "yes"


def test_tools_of_one_command_have_their_gates_beside_each_other_on_one_card(configured: World):
    found = page(configured)
    card = found.one(**{"data-trust-item": "t, same"})
    gates = {
        tag["data-gates"]: tag.text for tag in found if card in tag.parents and "data-gates" in tag
    }
    assert set(gates) == {"t", "same"}
    assert "question overwrite: configured answer (not shown); answered by" in gates["t"]
    assert "question who: human answer required" in gates["t"]
    assert "question" not in gates["same"]
    assert "approval: required" in gates["same"]


def test_a_gate_that_a_file_drops_is_shown_and_asked_about(configured: World):
    post(configured, "trust", item=things(page(configured)))
    edit(configured, 'run = "ask"', 'run = "unattended"')
    found = page(configured)
    assert "changed since it was trusted" in row(found, "t")
    assert found.one(**{"data-tool": "same"})["data-offered"] == "yes"
    changed = found.one(**{"data-trust-item": "t"})
    assert [tag.text for tag in found if tag.tag == "ins" and changed in tag.parents] == [
        "now: + approval: none"
    ]


def test_a_key_that_changes_is_told_to_have_changed_and_no_more(configured: World):
    post(configured, "trust", item=things(page(configured)))
    edit(configured, "s3cret-token", "other-token")
    found = page(configured)
    card = found.one(**{"data-trust-item": "s"})
    assert card["data-trust-state"] == "changed"
    assert [tag.text for tag in found if tag.tag == "ins" and card in tag.parents] == [
        "now: + (a value that is not shown has changed)"
    ]
    assert "token" not in found.text


def test_nothing_on_the_page_tells_whether_a_guess_at_a_secret_is_right(configured: World):
    html = configured.client("owner").get(address(configured)).content.decode()
    for thing in configuration.load_workspace_config(configured.home).trust_statuses:
        assert thing.item.fingerprint[:16] not in html
        assert thing.item.fingerprint[48:] not in html


def test_all_that_is_shown_is_trusted_with_one_click(configured: World):
    found = page(configured)
    shown = [tag["value"] for tag in found.all(name="item") if "data-trust-all" in tag.parents[-1]]
    assert sorted(shown) == sorted(things(found))
    post(configured, "trust", item=shown)
    found = page(configured)
    assert things(found) == []
    assert found.one(**{"data-tool": "t"})["data-offered"] == "yes"
    assert not found.all(**{"data-section": "waiting"})


def test_it_is_said_as_whom_a_command_runs_and_who_may_let_it(configured: World):
    said = page(configured).one(**{"data-section": "waiting"}).text
    assert "runs as the server's user" in said
    assert "An owner of any workspace on this server can trust" in said


def test_a_built_in_whose_gates_are_opened_has_a_card_of_its_own(configured: World):
    edit(configured, "nonsense = 1", "conversation.tools.ask_user.detached = 'auto'")
    found = page(configured)
    card = found.one(**{"data-trust-item": "ask_user"})
    assert "Approval settings of a built-in tool" in card.text
    assert "questions, if no one can answer: answered by a second model" in card.text
    assert found.one(**{"data-tool": "ask_user"})["data-offered"] == "no"


def test_all_tools_are_switched_but_those_that_are_not_switched_with_all(configured: World):
    found = post(configured, "switch", to="off")
    assert (
        "All tools are now disabled. Not changed, locked or by name only: ask_user, "
        "describe_tools, locked."
    ) in found.text
    offered = {tag["data-tool"] for tag in found.all(**{"data-offered": "yes"})}
    assert offered == {"ask_user", "describe_tools"}
    assert "disabled" in row(found, "t")
    assert "not included" in page(configured).one(**{"data-switch-all": ""}).text
    found = post(configured, "switch", to="on")
    assert "All tools are now enabled." in found.text
    assert "Not changed" not in found.text


@pytest.mark.parametrize("who", MEMBERS)
def test_a_key_in_an_address_is_on_no_page(configured: World, who: str):
    edit(
        configured,
        'api_key_env = "ANTHROPIC_API_KEY"',
        'base_url = "https://me:s3cret@own.example/?key=s3cret"',
    )
    edit(configured, "https://x.example", "https://me:s3cret@x.example/?key=s3cret")
    html = configured.client(who).get(address(configured)).content.decode()
    assert "s3cret" not in html
    assert "https://…@own.example/?…" in html
    edit(configured, "https://me:s3cret@x.example", "htps://me:s3cret@x.example")
    html = configured.client(who).get(address(configured)).content.decode()
    assert "s3cret" not in html
    assert "providers.mcp.s.url" in html


def test_a_change_is_shown_line_by_line_and_trusted_anew(configured: World):
    post(configured, "trust", item=things(page(configured)))
    assert things(page(configured)) == []
    edit(configured, "alert(1)", "alert(2)")
    found = page(configured)
    group = found.one(**{"data-trust-item": "t, same"})
    assert group["data-trust-state"] == "changed"
    inside = [tag for tag in found if group in tag.parents]
    assert [tag.text for tag in inside if tag.tag == "del"] == [
        "was: \N{MINUS SIGN} argument 1: <script>alert(1)</script>"
    ]
    assert [tag.text for tag in inside if tag.tag == "ins"] == [
        "now: + argument 1: <script>alert(2)</script>"
    ]
    assert "changed since it was trusted" in row(found, "t")
    post(configured, "trust", item=things(found))
    assert page(configured).one(**{"data-tool": "t"})["data-offered"] == "yes"


def test_what_changes_between_look_and_click_is_not_trusted(configured: World):
    seen = things(page(configured))
    edit(configured, "alert(1)", "alert(2)")
    found = post(configured, "trust", item=seen)
    assert "has changed since you opened the page" in found.text
    assert not Trust.objects.exists()


@pytest.mark.parametrize("thing", ["", "x", "x tool", "x tool t", "x nonsense t", "\0 tool \ud800"])
def test_a_form_that_nobody_was_shown_trusts_nothing(configured: World, thing: str):
    data = {"item": thing.encode(errors="replace")}
    response = configured.client("owner").post(address(configured, "/trust"), data)
    assert response.status_code == 302
    assert not Trust.objects.exists()


def test_trust_is_withdrawn(configured: World):
    seen = things(page(configured))
    post(configured, "trust", item=seen)
    assert "trusted by Owner" in page(configured).one(**{"data-trust-item": "t, same"}).text
    found = post(configured, "withdraw", item=[value for value in seen if " t" in value])
    assert "No longer trusted" in found.text
    assert page(configured).one(**{"data-tool": "t"})["data-offered"] == "no"


def test_a_tool_is_switched_where_that_is_allowed(configured: World):
    found = post(configured, "switch", tool="ask_user", to="off")
    assert "ask_user is now disabled." in found.text
    assert "disabled" in row(found, "ask_user")
    found = post(configured, "switch", tool="ask_user", to="on")
    assert found.one(**{"data-tool": "ask_user"})["data-offered"] == "yes"
    assert "locked (enabled)" in row(found, "locked")
    assert "is locked (enabled)" in post(configured, "switch", tool="locked", to="off").text
    assert "Unknown tool" in post(configured, "switch", tool="<b>", to="off").text


def test_overrides_are_saved_and_shown_as_typed(configured: World):
    text = "# why <b>\n\n[assistant]\nname = 'X'\n"
    data = {"overrides": text.replace("\n", "\r\n"), "overrides_hash": overrides.hash_text("")}
    found = post(configured, "overrides", **data)
    assert "Saved the overrides." in found.text
    assert found.one(id="overrides").text.removeprefix("\n") == text
    configured.home.refresh_from_db()
    assert configured.home.overrides == text


@pytest.mark.parametrize("bad", ["a = = 1", "assistant.name = 1", "conversation.tools.x = {}"])
def test_overrides_that_are_refused_stay_in_the_field(configured: World, bad: str):
    seen = overrides.hash_text("")
    response = configured.client("owner").post(
        address(configured, "/overrides"), {"overrides": bad, "overrides_hash": seen}
    )
    assert response.status_code == 422
    found = read(response)
    assert found.one(id="overrides").text.strip() == bad
    assert found.one(id="overrides")["aria-describedby"] == found.one(role="alert")["id"]
    assert found.one(role="alert").text.startswith("Not saved. overrides: ")
    configured.home.refresh_from_db()
    assert configured.home.overrides == ""


def test_two_owners_do_not_write_over_each_other(configured: World):
    seen = page(configured).one(name="overrides_hash")["value"]
    post(configured, "overrides", overrides="# one", overrides_hash=seen)
    found = post(configured, "overrides", overrides="# two", overrides_hash=seen)
    assert "Someone else saved" in found.one(role="alert").text
    assert found.one(id="overrides").text.strip() == "# two"
    assert "# one" in found.text
    post(
        configured,
        "overrides",
        overrides="# two",
        overrides_hash=found.one(name="overrides_hash")["value"],
    )
    configured.home.refresh_from_db()
    assert configured.home.overrides == "# two"


@pytest.mark.parametrize("who", MEMBERS)
def test_a_broken_configuration_is_told_and_breaks_no_page(configured: World, who: str):
    edit(configured, 'run = "ask"', 'run = "sometimes"')
    found = page(configured, who)
    assert found.one(**{"data-problem": ""}).text == (
        '.jp/config.toml: conversation.tools.t.run is "sometimes". '
        "It must be ask, unattended, edit or skip."
    )
    assert found.one(**{"data-tool": "ask_user"})["data-offered"] == "no"
    talk = f"/conversations/{configured.talk.pk}"
    assert configured.client(who).get(talk).status_code == 200


def test_the_page_is_found_in_the_menu_by_everybody_and_beside_people(world: World):
    for who in MEMBERS:
        assert f'href="{address(world)}"' in world.client(who).get("/").content.decode()
    people = world.client("owner").get(f"/workspaces/{world.home.pk}/people").content.decode()
    assert people.count(f'href="{address(world)}"') == 2
    assert ": Tools" not in world.client("outsider").get("/").content.decode()


def test_every_reason_has_its_words():
    assert set(display_text.UNAVAILABLE_LABELS) == {why.name for why in ToolAvailability} - {
        "OFFERED"
    }
