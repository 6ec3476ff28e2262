"""Links to an event: the server opens a conversation around it, wherever a link leads from."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest

from jpweb.store.models import Approval
from jpweb.store.notifications import answer_links
from jpweb.stream.inquiry import CancellationReason, Cancelled
from jpweb.web import transcript
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World

#: A link to an event; its parameters are the first group, its fragment is the second.
EVENT_LINK = re.compile(r"(?:http://testserver)?/conversations/\d+(?:\?([^#]*))?#(e-[\w-]+)")


def settle(world: World) -> None:
    owner = making.decider(world.people["owner"])
    making.settle(world.question, Cancelled(CancellationReason.USER), owner)


def parse_link(link: str) -> tuple[str, ...]:
    match = EVENT_LINK.fullmatch(link)
    assert match, link
    return match.groups()


def make_path(world: World, path: str) -> str:
    """Return a path with the keys of the world's question and of a link to answer it."""
    responder = world.people["responder"]
    token = answer_links.issue_link(world.question.pk, responder.pk) if "{token}" in path else ""
    return path.format(key=world.question.pk, token=token)


@pytest.mark.parametrize(("name", "is_settled", "path"), [
    ("auditor", False, "/audit"),
    ("auditor", True, "/audit/decisions"),
    ("auditor", True, "/audit/decisions?view=timeline"),
    ("auditor", True, "/audit/reviews/cancelled"),
    ("responder", False, "/questions"),
    ("owner", True, "/questions"),
    ("responder", False, "/questions/{key}"),
    ("auditor", True, "/questions/{key}"),
    ("responder", False, "/questions/{key}/context"),
    ("responder", False, "/questions/{key}/snooze/choose"),
    ("responder", False, "/answer/{token}"),
], ids=[
    "audit table", "decision table", "decision timeline", "review queue", "question card",
    "question row", "open question", "settled question", "context", "card page", "answer link",
])  # fmt: skip
def test_links_to_an_event_open_the_conversation_around_it(
    world: World, name: str, is_settled: bool, path: str
):
    if is_settled:
        settle(world)
    page = parse_page(world.client(name).get(make_path(world, path)))
    links = filter(None, (EVENT_LINK.fullmatch(tag.get("href", "")) for tag in page))
    assert {link.groups() for link in links} == {(f"at={world.anchor}", world.anchor)}


def _read_links(response: Any, path: str) -> list[str]:
    body = b"".join(response) if response.streaming else response.content
    text = body.decode()
    rows: Any = (
        csv.DictReader(io.StringIO(text, newline=""))
        if path.endswith(".csv")
        else map(json.loads, text.splitlines())
    )
    return [row["link"] for row in rows]


@pytest.mark.parametrize("path", ["/audit.csv", "/audit.jsonl"])
def test_exported_links_open_the_conversation_around_the_question(world: World, path: str):
    (link,) = _read_links(world.client("auditor").get(path), path)
    page_url = f"http://testserver/conversations/{world.conversation.pk}"
    assert link == f"{page_url}?at={world.anchor}#{world.anchor}"


@pytest.mark.parametrize("action", ["answer", "decline"])
def test_answer_without_scripts_opens_the_conversation_around_the_question(
    world: World, action: str
):
    address = f"/questions/{world.question.pk}/{action}"
    response = world.client("responder").post(address, {"answer": "true"})
    assert parse_link(response["Location"]) == (f"at={world.anchor}", world.anchor)


def test_call_of_an_approval_opens_around_the_call(world: World):
    address = f"/prompts/{world.prompt.pk}/call"
    Approval.objects.update(tool_call_id="call_1")
    anchor = world.conversation.journal.get(category="call").anchor
    response = world.client("auditor").get(address)
    assert parse_link(response["Location"]) == (f"at={anchor}", anchor)
    Approval.objects.update(tool_call_id="unknown", subject={})
    response = world.client("auditor").get(address)
    assert response["Location"] == f"/conversations/{world.conversation.pk}"


@pytest.mark.parametrize(("anchor", "extra", "ending"), [
    ("e-1", {}, "?at=e-1#e-1"),
    ("e-1", {"q": ""}, "?at=e-1#e-1"),
    ("e-1", {"q": "two roses"}, "?at=e-1&q=two+roses#e-1"),
    ("", {}, ""),
    ("", {"q": "roses"}, ""),
], ids=["event", "without words", "with words", "no event", "no event with words"])  # fmt: skip
def test_event_url_names_the_event_twice(anchor: str, extra: dict[str, str], ending: str):
    assert transcript.make_event_url(5, anchor, **extra) == f"/conversations/5{ending}"
