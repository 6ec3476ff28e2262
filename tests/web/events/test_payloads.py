"""What events hold: its beginning on a page, its parts on request, all of it as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.runtime import exports
from jpweb.runtime.rendering import etag, payloads
from jpweb.store.choices import Role
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Membership
from jpweb.stream import base64_fields, wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    Element,
    TurnStart,
)
from tests import hostile
from tests.builders import AT, answered, asked, called, element, raw, returned, stream
from tests.store import making
from tests.web.reading import Page, Tag, read
from tests.web.world import signed_in

IN_PLACE = {"headers": {"HX-Request": "true"}}
LINES = "one line\n" * 4000


class Shown:
    """A conversation of given events, and a reader of it."""

    def __init__(self, folder: Path, *kinds: Any) -> None:
        making.folder(folder, "17000000000-x", stream(*kinds))
        home, _ = mirror.mirror_workspace(folder)
        self.client: Client = signed_in(making.person("someone", Role.READER, home))
        self.client.defaults["HTTP_HOST"] = "localhost"  # elsewhere nothing is kept
        self.talk = Conversation.objects.get(workspace=home)
        self.anchors = list(self.talk.journal.order_by("position").values_list("anchor", flat=True))

    def url(self, at: int = -1, rest: str = "") -> str:
        return f"/conversations/{self.talk.pk}/events/{self.anchors[at]}{rest}"

    def page(self, **query: str) -> Page:
        return read(self.client.get(f"/conversations/{self.talk.pk}", query))

    def part(self, at: int, name: str, number: int = 1, **headers: str) -> Any:
        given = {"headers": {"HX-Request": "true", **headers}}
        return self.client.get(self.url(at, f"/{name}"), {"part": number}, **given)  # type: ignore[arg-type]  # Django's keywords


def payload(page: Page, name: str) -> Tag:
    return page.one(**{"data-payload": name})


@pytest.fixture
def shown(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    return lambda *kinds: Shown(tmp_path, *kinds)


LONG = [
    ("content", [ChatResponse("data", {"a": LINES})]),
    ("arguments", [called("c", text=LINES)]),
    ("content", [called("c"), returned("c", LINES)]),
    ("delta", [ConfigDelta({"a": LINES})]),
]


@pytest.mark.parametrize(("name", "kinds"), LONG, ids=["data", "arguments", "result", "delta"])
def test_what_is_long_is_fetched_when_it_comes_into_view(shown: Any, name: str, kinds: list[Any]):
    there = shown(TurnStart(), *kinds)
    held = payload(there.page(), name)
    assert len(held.text) < 1_000
    assert held["hx-get"] == there.url(-1, f"/{name}")
    assert held["hx-trigger"] == "intersect once"
    assert "characters, " in held.text or "characters." in held.text
    whole = read(there.client.get(held["hx-get"], **IN_PLACE))
    assert whole.text.count("one line") == 4000
    assert "hx-get" not in payload(whole, name)


def test_a_long_message_is_fetched_when_somebody_asks(shown: Any):
    there = shown(TurnStart(), ChatResponse("message", LINES))
    held = payload(there.page(), "content")
    assert "hx-get" not in held
    link = next(t for t in there.page() if t.text == "Show all")
    assert link["href"] == there.url()
    assert link["hx-get"] == there.url(-1, "/content")
    assert held.text.count("one line") > 1000
    assert "Truncated (total: 36,000 characters, 4,000 lines)." in held.text


@pytest.mark.parametrize(
    "kinds",
    [
        [called("c", path="x"), returned("c", "Short.")],
        [called("c", content="x" * 1400), returned("c", "y" * 1500)],
        [ChatResponse("message", "x" * payloads.MAX_PROSE_CHARS)],
        [ConfigDelta({"a": 1})],
    ],
)
def test_what_is_short_is_whole_and_fetches_nothing(shown: Any, kinds: list[Any]):
    page = shown(TurnStart(), *kinds).page()
    assert "Truncated" not in page.text
    held = [tag for tag in page if "data-payload" in tag]
    assert held
    assert not [tag for tag in held if "hx-get" in tag]


def test_code_is_coloured_when_it_comes_into_view(shown: Any):
    there = shown(TurnStart(), ChatResponse("message", "```python\ndef f(): pass\n```"))
    assert not [t for t in there.page() if t.get("class") == "k"]
    held = payload(there.page(), "content")
    whole = read(there.client.get(held["hx-get"], **IN_PLACE))
    assert ("k", "def") in [(t.get("class"), t.text) for t in whole]


def test_code_that_comes_in_colours_takes_no_more_room(shown: Any):
    there = shown(TurnStart(), ChatResponse("message", "```python\ndef f(): pass\n```"))
    page = there.page()
    fragment = read(there.client.get(payload(page, "content")["hx-get"], **IN_PLACE))
    for shown_in in (page, fragment):
        assert not [tag for tag in shown_in if tag.get("class") == "rest"]


def test_the_whole_is_given_in_parts(shown: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(payloads, "PART_CHARS", 9_000)
    there = shown(TurnStart(), called("c"), returned("c", LINES))
    seen = ""
    for number in range(1, 5):
        made = read(there.part(-1, "content", number))
        (text,) = [t.text for t in made if t.tag == "pre"]
        seen += text
        links = [t for t in made if t.text == "Show next part"]
        assert len(links) == (number < 4)
        if links:
            assert links[0]["hx-get"].endswith(f"/content?part={number + 1}")
            page = read(there.client.get(links[0]["href"]))
            assert "one line" in payload(page, "content").text
    assert seen == LINES
    assert there.part(-1, "content", 5).status_code == 404


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "²", ""])
def test_a_part_that_is_none_is_missing(shown: Any, number: str):
    there = shown(TurnStart(), called("c"), returned("c", "Done."))
    assert there.part(-1, "content", number).status_code == 404


@pytest.mark.parametrize("rest", ["/no-such", "/no-such.txt"])
def test_what_an_event_does_not_hold_is_missing(shown: Any, rest: str):
    there = shown(TurnStart(), ChatResponse("message", "Hi"))
    assert there.client.get(there.url(-1, rest), **IN_PLACE).status_code == 404


@pytest.mark.parametrize("rest", [".json", "/raw", "/raw.txt", ""])
def test_an_event_that_is_not_there_is_missing(shown: Any, rest: str):
    there = shown(TurnStart())
    url = f"/conversations/{there.talk.pk}/events/e-nothing{rest}"
    assert there.client.get(url, **IN_PLACE).status_code == 404


def test_who_asks_without_scripts_gets_the_page_of_the_event(shown: Any):
    there = shown(TurnStart(), ChatResponse("message", "Hi"))
    reply = there.client.get(there.url(-1, "/content"))
    assert (reply.status_code, reply["Location"]) == (302, there.url())
    assert "HX-Request" in reply["Vary"]


def test_a_part_that_a_browser_has_is_not_made_again(shown: Any, monkeypatch: pytest.MonkeyPatch):
    there = shown(TurnStart(), called("c"), returned("c", LINES))
    first = there.part(-1, "content")
    assert first["Cache-Control"] == "private, no-cache"
    assert not first["ETag"].startswith("W/")
    monkeypatch.setattr(payloads.Payload, "render_part", None)
    again = there.part(-1, "content", 1, **{"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]


def test_what_is_made_otherwise_has_another_tag(shown: Any, monkeypatch: pytest.MonkeyPatch):
    there = shown(TurnStart(), called("c"), returned("c", LINES))
    tags = {there.part(-1, "content")["ETag"], there.part(-1, "raw")["ETag"]}
    monkeypatch.setattr(etag, "get_render_version", lambda: "another")
    tags.add(there.part(-1, "content")["ETag"])
    assert len(tags) == 3


def test_a_part_takes_as_many_queries_however_long_the_conversation_is(shown: Any):
    there = shown(
        TurnStart(), *(ChatResponse("message", f"{n}") for n in range(300)), returned("c")
    )
    counts = []
    for at in (1, 299):
        with CaptureQueriesContext(connection) as made:
            assert there.part(at, "content").status_code == 200
        counts.append(len(made))
    assert counts[0] == counts[1] <= 6


@pytest.mark.parametrize("text", ["\u202ea\x00b\r\n<b>", LINES])
def test_a_download_is_what_is_on_record(shown: Any, text: str):
    there = shown(TurnStart(), called("c"), returned("c", text))
    reply = there.client.get(there.url(-1, "/content.txt"))
    assert reply.content.decode() == text
    assert reply["Content-Type"] == "text/plain; charset=utf-8"
    assert reply["Content-Disposition"].startswith("attachment; ")
    assert reply["X-Content-Type-Options"] == "nosniff"
    whole = there.client.get(there.url(-1, "/raw.txt"))
    assert whole.content.decode() == there.talk.journal.get(anchor=there.anchors[-1]).text


def test_a_tool_call_is_copied_with_its_inquiries_and_its_result(shown: Any):
    kinds = [called("c", a="b"), asked("c.q.1"), answered("c.q.1"), returned("c", "Done.")]
    there = shown(TurnStart(), *kinds, ChatResponse("message", "Hi"))
    made = json.loads(there.client.get(there.url(1, ".json")).content)
    assert made["request"]["arguments"] == {"a": "b"}
    assert [one["response"]["answer"] for one in made["inquiries"]] == [True]
    assert made["result"]["content"] == "Done."
    for part in (2, 3, 4):
        assert json.loads(there.client.get(there.url(part, ".json")).content) == made
    alone = json.loads(there.client.get(there.url(5, ".json")).content)
    assert alone["event"]["message"] == "Hi"


@pytest.mark.parametrize("kinds", [[called("c"), asked("x.q.1")], [raw({"type": "novel"})]])
def test_what_has_no_result_is_copied_as_well(shown: Any, kinds: list[Any]):
    there = shown(TurnStart(), *kinds)
    for at in range(1, len(kinds) + 1):
        assert json.loads(there.client.get(there.url(at, ".json")).content)


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "kinds",
    [
        [ChatResponse("message", HALF)],
        [ChatResponse("data", {HALF: [HALF]})],
        [ChatRequest(HALF, author=HALF)],
        [called("c", HALF, **{HALF: HALF}), returned("c", HALF)],
        [called("c"), asked("c.q.1", HALF), answered("c.q.1", HALF), returned("c")],
        [ConfigDelta({HALF: HALF})],
        [raw({"type": HALF, HALF: HALF})],
        [wire.read_element('{"type": "x\\ud800", "x": NaN}')],
        [wire.read_element('{"type": "x\\ud800", "x": ' + "[" * 5000 + "]" * 5000 + "}")],
    ],
    ids=["message", "data", "request", "call", "inquiry", "delta", "unknown", "nan", "deep"],
)
def test_element_that_jp_refuses_fails_no_page_and_no_file(shown: Any, kinds: list[Any]):
    there = shown(TurnStart(), *[_escaped(kind) for kind in kinds])
    Membership.objects.update(role=Role.AUDITOR)
    own = [
        there.url(at, rest) for at in range(1, len(kinds) + 1) for rest in ("", ".json", "/raw.txt")
    ]
    talk = f"/conversations/{there.talk.pk}"
    views = [talk, *(f"{talk}/{view}" for view in ("raw", "compacted", "thread", "outline"))]
    files = [f"{talk}/export/{name}" for name in exports.FORMATS]
    statuses = {url: there.client.get(url).status_code for url in (*own, *views, *files)}
    assert {url: status for url, status in statuses.items() if status != 200} == {}
    whole = [there.client.get(url).content.decode() for url in own if url.endswith(".json")]
    assert any("ud800" in text for text in whole)


def _escaped(kind: Any) -> Any:
    """Return the element of an event as a program writes it that escapes what is not ASCII."""
    if isinstance(kind, Element):
        return kind
    return raw({"timestamp": AT, "type": kind.TAG} | kind.to_fields())


def test_each_item_offers_to_copy_it_and_its_link(shown: Any):
    there = shown(TurnStart(), ChatResponse("message", "Hi"), called("c"), returned("c"))
    page = there.page()
    copied = [t["data-copy"] for t in page if "data-copy" in t]
    assert copied == [there.url(1, "/content.txt"), there.url(2, ".json")]
    links = [t["data-copy-link"] for t in page if "data-copy-link" in t]
    at = [there.anchors[n] for n in (1, 2)]
    assert links == [f"/conversations/{there.talk.pk}?at={a}#{a}" for a in at]
    assert not [t for t in page if t.tag == "button" and t.inside(role="summary")]
    assert not [t for t in page if t.tag == "button" and any(p.tag == "summary" for p in t.parents)]


def test_a_hostile_call_shows_the_first_fifty_questions_and_counts_the_rest(shown: Any):
    questions = [asked(f"c.q{n}.1", f"Question {n}?") for n in range(60)]
    there = shown(TurnStart(), called("c"), *questions, returned("c"))
    page = there.page(at=there.anchors[1])
    assert 0 < len([t for t in page if t.get("data-kind") == "inquiry_request"]) <= 50
    (call,) = page.all(**{"data-kind": "tool_call_request"})
    badges = [t for t in page if "data-count" in t and call in t.parents]
    assert [(t["data-count"], t.text) for t in badges] == [("unanswered", "60")]
    (link,) = [t for t in page if t.text == "Show all questions"]
    assert "show=questions&at=" in link["href"]


def test_what_a_tool_made_of_its_arguments_is_shown_as_a_terminal_does(shown: Any):
    kept = {"rendered_arguments": base64_fields.encode_text("\x1b[32m+ added\x1b[0m <b>")}
    page = shown(TurnStart(), element(called("c", x="y"), metadata=kept)).page()
    held = payload(page, "formatted")
    assert held.text.strip() == "+ added <b>"
    assert [t["class"] for t in page if t.tag == "span" and t.text == "+ added"] == ["fg-2"]
    assert payload(page, "arguments").text.strip() == "xy"


def test_a_summary_is_shown_as_markdown(shown: Any):
    policies = {"summary": {"policy": "summarize", "summary": "It was **good**."}}
    page = shown(TurnStart(), Compaction(0, 0, policies)).page()
    assert payload(page, "summary").text.strip() == "It was good."


def test_legacy_events_are_shown_each_as_what_they_are(shown: Any):
    sample = (
        Path(__file__).parents[2]
        / "samples"
        / "layouts"
        / "2025-07.user_message.assistant_message.json"
    )
    there = shown(TurnStart(), *map(raw, json.loads(sample.read_text())))
    anchors = [t["data-copy"] for t in there.page() if "data-copy" in t]
    for address in anchors:
        assert there.client.get(address).status_code == 200
    assert len(set(anchors)) == len(anchors) > 0


def test_of_an_older_layout_what_is_copied_is_the_event_that_was_asked_for(shown: Any):
    calls: list[Any] = [{"id": name, "name": name, "arguments": {}} for name in ("first", "second")]
    results = [{"id": "second", "content": "RG9uZS4=", "error": False}]
    old = {"timestamp": "2025-07-01T00:00:00Z", "reply": {"provider": "x", "tool_calls": calls}}
    old |= {"message": "Hi", "context": {}}
    there = shown(
        TurnStart(), raw(old), raw(old | {"message": results, "reply": {"provider": "x"}})
    )
    made = [
        json.loads(there.client.get(there.url(1, rest)).content)
        for rest in (".json", "-p2.json", "-p3.json")
    ]
    assert made[0]["event"]["type"] == "chat_request"
    assert [one["request"]["name"] for one in made[1:]] == ["first", "second"]
    assert [bool(one["result"]) for one in made[1:]] == [False, True]


def test_pages_of_hostile_documents_are_inert_and_light(shown: Any):
    there = shown(*hostile.conversation())
    address, seen = f"/conversations/{there.talk.pk}", set()
    while address:
        reply = there.client.get(address)
        assert len(reply.content) < 300_000
        page = read(reply)
        assert (page.crossed, page.unclosed) == ([], [])
        main = [t for t in page if any(p.get("id") == "transcript" for p in t.parents)]
        foreign = {"script", "svg", "img", "iframe", "form", "style", "link", "meta", "base"}
        assert not foreign & {t.tag for t in main}
        assert not [t for t in main if {"style", "onerror", "onclick", "onload"} & set(t)]
        ids = [t["id"] for t in page if "id" in t]
        assert len(ids) == len(set(ids))
        seen |= set(ids)
        address = next((t["href"] for t in page if t.get("rel") == "next"), "")
    assert set(there.anchors) <= seen


def test_what_a_person_typed_keeps_its_line_ends(shown: Any):
    both = shown(TurnStart(), ChatRequest("one\ntwo"), ChatResponse("message", "one\ntwo"))
    ends = [tag for tag in both.page() if tag.tag == "br"]
    assert [tag.inside(**{"data-kind": "chat_request"}) for tag in ends] == [True]
