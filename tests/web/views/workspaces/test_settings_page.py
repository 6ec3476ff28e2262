"""Settings in one place, the look of pages, the panel of the first visit, and *Go to*."""

from __future__ import annotations

import pytest

from jpweb.store.choices import Act, Role
from jpweb.store.models import DEMO_ROOT, Conversation, LedgerEntry, Membership, Person, Workspace
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

HTMX = {"HX-Request": "true"}


def list_links(world: World, name: str, path: str) -> list[str]:
    page = parse_page(world.client(name).get(path))
    return [tag["href"] for tag in page if tag.inside(id="main") and "href" in tag]


def test_the_settings_of_each_workspace_are_those_of_the_role(world: World):
    workspace_path = f"/workspaces/{world.workspace.pk}"
    own_links = ["/notifications", "/account", "/account/readers", "/download"]
    assert list_links(world, "outsider", "/settings") == own_links
    assert list_links(world, "reader", "/settings") == [*own_links, f"{workspace_path}/tools"]
    owned = [
        f"{workspace_path}/people",
        f"{workspace_path}/waiting",
        f"{workspace_path}/tools",
        "/groups",
    ]
    assert list_links(world, "owner", "/settings") == [*own_links, *owned, "/workspaces/add"]


def test_a_person_chooses_theme_and_density_for_every_page(world: World):
    client = world.client("reader")
    root = parse_page(client.get("/")).find_one(lang="en")
    assert not {"data-theme", "data-density"} & set(root)
    client.post("/settings/appearance", {"theme": "dark", "density": "compact"})
    root = parse_page(client.get("/")).find_one(lang="en")
    assert (root["data-theme"], root["data-density"]) == ("dark", "compact")
    assert parse_page(client.get("/")).find_one(name="color-scheme")["content"] == "dark"
    other_root = parse_page(world.client("owner").get("/")).find_one(lang="en")
    assert "data-theme" not in other_root


@pytest.mark.parametrize("form", [{}, {"theme": "dark"}, {"theme": "<b>", "density": "compact"}])
def test_unknown_theme_is_refused(world: World, form: dict[str, str]):
    response = world.client("reader").post("/settings/appearance", form, follow=True)
    assert "Choose one of the options." in parse_page(response).text
    assert Person.objects.get(pk=world.people["reader"].pk).theme == "system"


def test_the_panel_of_the_first_visit_stays_away_once_it_is_closed(world: World):
    client = world.client("responder")
    assert "Welcome to jpweb" in parse_page(client.get("/")).text
    assert client.post("/welcome/dismiss").status_code == 302
    assert "Welcome to jpweb" not in parse_page(client.get("/")).text


def test_go_to_lists_accessible_conversations_and_pages(world: World):
    making.conversation(world.other_workspace, "A talk elsewhere")
    making.conversation(world.workspace, "Something else")
    conversations = [f"/conversations/{world.conversation.pk}"]
    links = list_links(world, "reader", "/go?q=talk")
    assert [link for link in links if link.startswith("/conversations/")] == conversations
    assert "/audit" not in links
    assert {"/audit", "/questions", "/groups"} < set(list_links(world, "owner", "/go"))
    fragment = parse_page(world.client("owner").get("/go?q=nothing", headers=HTMX))
    assert not fragment.find_all(id="main")
    assert "No matching conversations." in fragment.text


@pytest.fixture
def demo(world: World) -> Workspace:
    """The demo, with a conversation, in which two people have a role."""
    demo = making.workspace("Demo")
    Workspace.objects.filter(pk=demo.pk).update(root=DEMO_ROOT)
    for name, role in (("owner", Role.OWNER), ("reader", Role.READER)):
        Membership.objects.create(
            person=world.people[name], workspace=demo, role=role, direct_role=role
        )
    making.conversation(demo, "A tour of the demo")
    return demo


def test_hide_demo_leaves_it_in_no_list_of_that_person(world: World, demo: Workspace):
    client = world.client("owner")
    assert "A tour of the demo" in parse_page(client.get("/conversations")).text
    page = client.post("/settings/demo", {"demo": "hide"}, follow=True)
    assert "The demo is hidden." in parse_page(page).text
    for path in ("/conversations", "/", "/go", "/audit"):
        assert "emo" not in parse_page(client.get(path)).text.replace("Show the demo", ""), path
    assert "A tour of the demo" in parse_page(world.client("reader").get("/conversations")).text


def test_show_demo_gives_the_role_back_that_was_set_aside(world: World, demo: Workspace):
    client = world.client("owner")
    client.post("/settings/demo", {"demo": "hide"})
    page = client.post("/settings/demo", {"demo": "show"}, follow=True)
    assert "The demo is back." in parse_page(page).text
    membership = Membership.objects.get(workspace=demo, person=world.people["owner"])
    assert (membership.role, membership.direct_role) == (Role.OWNER, Role.OWNER)
    assert "A tour of the demo" in parse_page(client.get("/conversations")).text
    acts = (
        LedgerEntry.objects.filter(workspace_id=demo.pk)
        .order_by("pk")
        .values_list("act", flat=True)
    )
    assert [*acts][-2:] == [Act.MEMBER_REMOVED, Act.MEMBER_ADDED]


def test_show_demo_gives_no_new_role(world: World, demo: Workspace):
    world.client("outsider").post("/settings/demo", {"demo": "show"})
    assert not Membership.objects.filter(workspace=demo, person=world.people["outsider"]).exists()
    assert Conversation.objects.filter(workspace=demo).exists()


def test_save_demo_without_a_choice_says_so(world: World):
    page = world.client("reader").post("/settings/demo", {"demo": "burn"}, follow=True)
    assert "Choose one of the options." in parse_page(page).text
