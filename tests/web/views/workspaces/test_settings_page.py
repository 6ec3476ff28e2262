"""Settings in one place, the look of pages, the panel of the first visit, and *Go to*."""

from __future__ import annotations

import pytest

from jpweb.store.models import Person
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

HTMX = {"HX-Request": "true"}


def list_links(world: World, name: str, path: str) -> list[str]:
    page = parse_page(world.client(name).get(path))
    return [tag["href"] for tag in page if tag.inside(id="main") and "href" in tag]


def test_the_settings_of_each_workspace_are_those_of_the_role(world: World):
    home = f"/workspaces/{world.home.pk}"
    own = ["/notifications", "/account", "/account/readers", "/download"]
    assert list_links(world, "outsider", "/settings") == own
    assert list_links(world, "reader", "/settings") == [*own, f"{home}/tools"]
    owned = [f"{home}/people", f"{home}/waiting", f"{home}/tools", "/groups"]
    assert list_links(world, "owner", "/settings") == [*own, *owned, "/workspaces/add"]


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
def test_a_look_that_nobody_offers_is_refused(world: World, form: dict[str, str]):
    response = world.client("reader").post("/settings/appearance", form, follow=True)
    assert "Choose one of the options." in parse_page(response).text
    assert Person.objects.get(pk=world.people["reader"].pk).theme == "system"


def test_the_panel_of_the_first_visit_stays_away_once_it_is_closed(world: World):
    client = world.client("responder")
    assert "Welcome to jpweb" in parse_page(client.get("/")).text
    assert client.post("/welcome/dismiss").status_code == 302
    assert "Welcome to jpweb" not in parse_page(client.get("/")).text


def test_go_to_lists_what_the_person_can_open(world: World):
    making.conversation(world.other_home, "A talk elsewhere")
    making.conversation(world.home, "Something else")
    talks = [f"/conversations/{world.talk.pk}"]
    links = list_links(world, "reader", "/go?q=talk")
    assert [link for link in links if link.startswith("/conversations/")] == talks
    assert "/audit" not in links
    assert {"/audit", "/questions", "/groups"} < set(list_links(world, "owner", "/go"))
    fragment = parse_page(world.client("owner").get("/go?q=nothing", headers=HTMX))
    assert not fragment.find_all(id="main")
    assert "No matching conversations." in fragment.text
