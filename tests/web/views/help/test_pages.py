from __future__ import annotations

import re

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse

from jpweb.web.views.help.pages import PAGES
from tests.web.reading import ParsedPage, parse_page
from tests.web.world import World

ADDRESSES = ["/help", *(f"/help/{name}" for name in PAGES)]


def open_help(world: World, address: str) -> ParsedPage:
    return parse_page(world.client("reader").get(address))


def list_values(page: ParsedPage, tag: str, attribute: str) -> list[str]:
    """Return the values that the elements of the article have of an attribute."""
    return [
        str(element[attribute])
        for element in page
        if element.tag == tag
        and element.get(attribute)
        and element.inside(**{"class": "prose help"})
    ]


@pytest.mark.parametrize("address", ADDRESSES)
def test_help_page_links_to_pages_and_headings_that_exist(world: World, address: str):
    links = list_values(open_help(world, address), "a", "href")
    for link in links:
        path, _, fragment = link.partition("#")
        if "//" in path:
            continue
        target = open_help(world, path or address)
        assert not fragment or fragment in list_values(target, "h2", "id"), link


@pytest.mark.parametrize("address", ADDRESSES)
def test_help_page_shows_pictures_as_static_files(world: World, address: str):
    pictures = list_values(open_help(world, address), "img", "src")
    names = [re.sub(r"^/static/\w+/", "", picture) for picture in pictures]
    assert [name for name in names if finders.find(name) is None] == []
    assert len(names) == len(set(names))


def test_contents_of_help_lead_to_every_page(world: World):
    links = list_values(open_help(world, "/help"), "a", "href")
    assert sorted(links) == sorted(f"/help/{name}" for name in PAGES)


def test_menu_links_to_help(world: World):
    menu = [tag for tag in open_help(world, "/") if tag.inside(**{"class": "menu-body"})]
    assert reverse("help") in [tag.get("href") for tag in menu]


@pytest.mark.parametrize("name", ["README", "decisions", "no-such-page", "pictures"])
def test_file_that_is_no_help_page_returns_404(world: World, name: str):
    assert world.client("owner").get(f"/help/{name}").status_code == 404
