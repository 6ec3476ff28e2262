"""Conversations of given elements, and what a page of them says."""

from __future__ import annotations

import html
import re
from typing import Any

from jpweb.store.models import Conversation
from tests.store import making
from tests.web.world import World, signed_in


def mirror_conversation(world: World, *kinds: Any) -> Conversation:
    """Return a mirrored conversation of these, in the workspace of everybody in ``world``."""
    return making.mirrored_conversation(world.workspace, *kinds)


def open_view(world: World, conversation: Conversation, view: str, query: str = "") -> str:
    """Return a page as a reader gets it."""
    response = signed_in(world.people["reader"]).get(
        f"/conversations/{conversation.pk}/{view}{query}"
    )
    assert response.status_code == 200, response.status_code
    text: str = response.content.decode()
    return text


def get_words(page: str) -> str:
    """Return what a page says, without its markup."""
    main = page[page.index("<main") :]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())


def list_anchors(conversation: Conversation) -> list[str]:
    return list(conversation.journal.order_by("position").values_list("anchor", flat=True))


def list_positions(page: str) -> list[int]:
    return [int(position) for position in re.findall(r'data-position="(\d+)"', page)]


def find_link(page: str, rel: str) -> str:
    """Return where a page leads on or back to; nothing where it does not."""
    match = re.search(rf'<a rel="{rel}" href="([^"]*)"', page)
    return html.unescape(match[1]) if match else ""
