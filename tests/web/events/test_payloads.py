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
from jpweb.store.models import Membership
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
from tests.builders import (
    AT,
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.store import making
from tests.web.reading import ParsedPage, Tag, parse_page
from tests.web.world import signed_in

IN_PLACE = {"headers": {"HX-Request": "true"}}
LINES = "one line\n" * 4000


class Viewer:
    """A conversation of given events, and a reader of it."""

    def __init__(self, folder: Path, *kinds: Any) -> None:
        making.write_folder(folder, "17000000000-x", stream(*kinds))
        workspace, _ = mirror.mirror_workspace(folder)
        self.client: Client = signed_in(making.person("someone", Role.READER, workspace))
        self.client.defaults["HTTP_HOST"] = "localhost"  # elsewhere nothing is kept
        self.conversation = workspace.conversations.get()
        self.entries = list(self.conversation.journal.order_by("position"))
        self.anchors = [entry.anchor for entry in self.entries]

    def url(self, at: int = -1, suffix: str = "") -> str:
        return f"/conversations/{self.conversation.pk}/events/{self.anchors[at]}{suffix}"

    def page(self, **query: str) -> ParsedPage:
        return parse_page(self.client.get(f"/conversations/{self.conversation.pk}", query))

    def part(self, at: int, name: str, number: int = 1, **headers: str) -> Any:
        headers = {"HX-Request": "true", **headers}
        return self.client.get(self.url(at, f"/{name}"), {"part": number}, headers=headers)


def payload(page: ParsedPage, name: str) -> Tag:
    return page.find_one(**{"data-payload": name})


@pytest.fixture
def make_viewer(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    return lambda *kinds: Viewer(tmp_path, *kinds)


LONG = [
    ("content", [ChatResponse("data", {"a": LINES})]),
    ("arguments", [make_call("c", text=LINES)]),
    ("content", [make_call("c"), make_result("c", LINES)]),
    ("delta", [ConfigDelta({"a": LINES})]),
]


@pytest.mark.parametrize(("name", "kinds"), LONG, ids=["data", "arguments", "result", "delta"])
def test_long_payload_is_fetched_when_it_becomes_visible(
    make_viewer: Any, name: str, kinds: list[Any]
):
    viewer = make_viewer(TurnStart(), *kinds)
    payload_tag = payload(viewer.page(), name)
    assert len(payload_tag.text) < 1_000
    assert payload_tag["hx-get"] == viewer.url(-1, f"/{name}")
    assert payload_tag["hx-trigger"] == "intersect once"
    assert "characters, " in payload_tag.text or "characters." in payload_tag.text
    fragment = parse_page(viewer.client.get(payload_tag["hx-get"], **IN_PLACE))
    assert fragment.text.count("one line") == 4000
    assert "hx-get" not in payload(fragment, name)


def test_long_message_is_fetched_by_show_all(make_viewer: Any):
    viewer = make_viewer(TurnStart(), ChatResponse("message", LINES))
    payload_tag = payload(viewer.page(), "content")
    assert "hx-get" not in payload_tag
    link = next(t for t in viewer.page() if t.text == "Show all")
    assert link["href"] == viewer.url()
    assert link["hx-get"] == viewer.url(-1, "/content")
    assert payload_tag.text.count("one line") > 1000
    assert "Truncated (total: 36,000 characters, 4,000 lines)." in payload_tag.text


@pytest.mark.parametrize(
    "kinds",
    [
        [make_call("c", path="x"), make_result("c", "Short.")],
        [make_call("c", content="x" * 1400), make_result("c", "y" * 1500)],
        [ChatResponse("message", "x" * payloads.MAX_PROSE_CHARS)],
        [ConfigDelta({"a": 1})],
    ],
)
def test_short_payload_is_complete_and_fetches_nothing(make_viewer: Any, kinds: list[Any]):
    page = make_viewer(TurnStart(), *kinds).page()
    assert "Truncated" not in page.text
    payload_tags = [tag for tag in page if "data-payload" in tag]
    assert payload_tags
    assert not [tag for tag in payload_tags if "hx-get" in tag]


def test_code_is_colored_when_it_comes_into_view(make_viewer: Any):
    viewer = make_viewer(TurnStart(), ChatResponse("message", "```python\ndef f(): pass\n```"))
    assert not [t for t in viewer.page() if t.get("class") == "k"]
    payload_tag = payload(viewer.page(), "content")
    fragment = parse_page(viewer.client.get(payload_tag["hx-get"], **IN_PLACE))
    assert ("k", "def") in [(t.get("class"), t.text) for t in fragment]


def test_code_that_comes_in_colors_takes_no_more_room(make_viewer: Any):
    viewer = make_viewer(TurnStart(), ChatResponse("message", "```python\ndef f(): pass\n```"))
    page = viewer.page()
    fragment = parse_page(viewer.client.get(payload(page, "content")["hx-get"], **IN_PLACE))
    for shown_in in (page, fragment):
        assert not [tag for tag in shown_in if tag.get("class") == "rest"]


def test_payload_is_delivered_in_parts(make_viewer: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(payloads, "PART_CHARS", 9_000)
    viewer = make_viewer(TurnStart(), make_call("c"), make_result("c", LINES))
    full_text = ""
    for number in range(1, 5):
        part_page = parse_page(viewer.part(-1, "content", number))
        (text,) = [t.text for t in part_page if t.tag == "pre"]
        full_text += text
        links = [t for t in part_page if t.text == "Show next part"]
        assert len(links) == (number < 4)
        if links:
            assert links[0]["hx-get"].endswith(f"/content?part={number + 1}")
            page = parse_page(viewer.client.get(links[0]["href"]))
            assert "one line" in payload(page, "content").text
    assert full_text == LINES
    assert viewer.part(-1, "content", 5).status_code == 404


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30, "²", ""])
def test_a_part_that_is_none_is_missing(make_viewer: Any, number: str):
    viewer = make_viewer(TurnStart(), make_call("c"), make_result("c", "Done."))
    assert viewer.part(-1, "content", number).status_code == 404


@pytest.mark.parametrize("suffix", ["/no-such", "/no-such.txt"])
def test_payload_that_an_event_lacks_returns_404(make_viewer: Any, suffix: str):
    viewer = make_viewer(TurnStart(), ChatResponse("message", "Hi"))
    assert viewer.client.get(viewer.url(-1, suffix), **IN_PLACE).status_code == 404


@pytest.mark.parametrize("suffix", [".json", "/raw", "/raw.txt", ""])
def test_payload_of_a_missing_event_returns_404(make_viewer: Any, suffix: str):
    viewer = make_viewer(TurnStart())
    url = f"/conversations/{viewer.conversation.pk}/events/e-nothing{suffix}"
    assert viewer.client.get(url, **IN_PLACE).status_code == 404


def test_payload_without_htmx_redirects_to_the_event_page(make_viewer: Any):
    viewer = make_viewer(TurnStart(), ChatResponse("message", "Hi"))
    reply = viewer.client.get(viewer.url(-1, "/content"))
    assert (reply.status_code, reply["Location"]) == (302, viewer.url())
    assert "HX-Request" in reply["Vary"]


def test_a_part_that_a_browser_has_is_not_made_again(
    make_viewer: Any, monkeypatch: pytest.MonkeyPatch
):
    viewer = make_viewer(TurnStart(), make_call("c"), make_result("c", LINES))
    first = viewer.part(-1, "content")
    assert first["Cache-Control"] == "private, no-cache"
    assert not first["ETag"].startswith("W/")
    monkeypatch.setattr(payloads.Payload, "render_part", None)
    second_reply = viewer.part(-1, "content", 1, **{"If-None-Match": first["ETag"]})
    assert (second_reply.status_code, second_reply.content) == (304, b"")
    assert second_reply["ETag"] == first["ETag"]


def test_payload_etag_depends_on_render_version(make_viewer: Any, monkeypatch: pytest.MonkeyPatch):
    viewer = make_viewer(TurnStart(), make_call("c"), make_result("c", LINES))
    tags = {viewer.part(-1, "content")["ETag"], viewer.part(-1, "raw")["ETag"]}
    monkeypatch.setattr(etag, "get_render_version", lambda: "another")
    tags.add(viewer.part(-1, "content")["ETag"])
    assert len(tags) == 3


def test_a_part_takes_as_many_queries_however_long_the_conversation_is(make_viewer: Any):
    viewer = make_viewer(
        TurnStart(), *(ChatResponse("message", f"{n}") for n in range(300)), make_result("c")
    )
    counts = []
    for at in (1, 299):
        with CaptureQueriesContext(connection) as queries:
            assert viewer.part(at, "content").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6


@pytest.mark.parametrize("text", ["\u202ea\x00b\r\n<b>", LINES])
def test_payload_download_equals_the_record(make_viewer: Any, text: str):
    viewer = make_viewer(TurnStart(), make_call("c"), make_result("c", text))
    reply = viewer.client.get(viewer.url(-1, "/content.txt"))
    assert reply.content.decode() == text
    assert reply["Content-Type"] == "text/plain; charset=utf-8"
    assert reply["Content-Disposition"].startswith("attachment; ")
    assert reply["X-Content-Type-Options"] == "nosniff"
    raw_reply = viewer.client.get(viewer.url(-1, "/raw.txt"))
    assert raw_reply.content.decode() == viewer.entries[-1].text


def test_a_tool_call_is_copied_with_its_inquiries_and_its_result(make_viewer: Any):
    kinds = [
        make_call("c", a="b"),
        make_inquiry("c.q.1"),
        make_answer("c.q.1"),
        make_result("c", "Done."),
    ]
    viewer = make_viewer(TurnStart(), *kinds, ChatResponse("message", "Hi"))
    fields = json.loads(viewer.client.get(viewer.url(1, ".json")).content)
    assert fields["request"]["arguments"] == {"a": "b"}
    assert [inquiry["response"]["answer"] for inquiry in fields["inquiries"]] == [True]
    assert fields["result"]["content"] == "Done."
    for part in (2, 3, 4):
        assert json.loads(viewer.client.get(viewer.url(part, ".json")).content) == fields
    message_json = json.loads(viewer.client.get(viewer.url(5, ".json")).content)
    assert message_json["event"]["message"] == "Hi"


@pytest.mark.parametrize(
    "kinds", [[make_call("c"), make_inquiry("x.q.1")], [raw({"type": "novel"})]]
)
def test_event_without_a_result_has_a_json_copy(make_viewer: Any, kinds: list[Any]):
    viewer = make_viewer(TurnStart(), *kinds)
    for at in range(1, len(kinds) + 1):
        assert json.loads(viewer.client.get(viewer.url(at, ".json")).content)


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param([ChatResponse("message", HALF)], marks=pytest.mark.proof),
        pytest.param([ChatResponse("data", {HALF: [HALF]})], marks=pytest.mark.proof),
        pytest.param([ChatRequest(HALF, author=HALF)], marks=pytest.mark.proof),
        [make_call("c", HALF, **{HALF: HALF}), make_result("c", HALF)],
        [make_call("c"), make_inquiry("c.q.1", HALF), make_answer("c.q.1", HALF), make_result("c")],
        pytest.param([ConfigDelta({HALF: HALF})], marks=pytest.mark.proof),
        [raw({"type": HALF, HALF: HALF})],
        [wire.read_element('{"type": "x\\ud800", "x": NaN}')],
        [wire.read_element('{"type": "x\\ud800", "x": ' + "[" * 5000 + "]" * 5000 + "}")],
    ],
    ids=["message", "data", "request", "call", "inquiry", "delta", "unknown", "nan", "deep"],
)
def test_element_that_jp_refuses_fails_no_page_and_no_file(make_viewer: Any, kinds: list[Any]):
    viewer = make_viewer(TurnStart(), *[_escaped(kind) for kind in kinds])
    Membership.objects.update(role=Role.AUDITOR)
    event_urls = [
        viewer.url(at, suffix)
        for at in range(1, len(kinds) + 1)
        for suffix in ("", ".json", "/raw.txt")
    ]
    address = f"/conversations/{viewer.conversation.pk}"
    views = [address, *(f"{address}/{view}" for view in ("raw", "compacted", "thread", "outline"))]
    urls = (*event_urls, *views, *(f"{address}/export/{name}" for name in exports.FORMATS))
    assert [url for url in urls if viewer.client.get(url).status_code != 200] == []
    texts = [viewer.client.get(url).content.decode() for url in event_urls if url.endswith(".json")]
    assert any("ud800" in text for text in texts)


def _escaped(kind: Any) -> Any:
    """Return the element of an event as a program writes it that escapes what is not ASCII."""
    if isinstance(kind, Element):
        return kind
    return raw({"timestamp": AT, "type": kind.TAG} | kind.to_fields())


def test_transcript_items_have_copy_buttons_for_content_and_link(make_viewer: Any):
    viewer = make_viewer(
        TurnStart(), ChatResponse("message", "Hi"), make_call("c"), make_result("c")
    )
    page = viewer.page()
    copy_urls = [t["data-copy"] for t in page if "data-copy" in t]
    assert copy_urls == [viewer.url(1, "/content.txt"), viewer.url(2, ".json")]
    links = [t["data-copy-link"] for t in page if "data-copy-link" in t]
    at = [viewer.anchors[n] for n in (1, 2)]
    assert links == [f"/conversations/{viewer.conversation.pk}?at={a}#{a}" for a in at]
    assert not [t for t in page if t.tag == "button" and t.inside(role="summary")]
    assert not [t for t in page if t.tag == "button" and any(p.tag == "summary" for p in t.parents)]


def test_call_with_many_questions_shows_fifty_and_counts_the_others(make_viewer: Any):
    questions = [make_inquiry(f"c.q{n}.1", f"Question {n}?") for n in range(60)]
    viewer = make_viewer(TurnStart(), make_call("c"), *questions, make_result("c"))
    page = viewer.page(at=viewer.anchors[1])
    assert 0 < len([t for t in page if t.get("data-kind") == "inquiry_request"]) <= 50
    (call,) = page.find_all(**{"data-kind": "tool_call_request"})
    badges = [t for t in page if "data-count" in t and call in t.parents]
    assert [(t["data-count"], t.text) for t in badges] == [("unanswered", "60")]
    (link,) = [t for t in page if t.text == "Show the others as stored"]
    raw_text = parse_page(viewer.client.get(link["href"])).text
    other_texts = [f"Question {n}?" for n in range(50, 60)]
    assert [(text in page.text, text in raw_text) for text in other_texts] == [(False, True)] * 10


def test_formatted_arguments_are_rendered_as_terminal_output(make_viewer: Any):
    metadata = {"rendered_arguments": base64_fields.encode_text("\x1b[32m+ added\x1b[0m <b>")}
    page = make_viewer(TurnStart(), make_element(make_call("c", x="y"), metadata=metadata)).page()
    payload_tag = payload(page, "formatted")
    assert payload_tag.text.strip() == "+ added <b>"
    assert [t["class"] for t in page if t.tag == "span" and t.text == "+ added"] == ["fg-2"]
    assert payload(page, "arguments").text.strip() == "xy"


def test_a_summary_is_shown_as_markdown(make_viewer: Any):
    policies = {"summary": {"policy": "summarize", "summary": "It was **good**."}}
    page = make_viewer(TurnStart(), Compaction(0, 0, policies)).page()
    assert payload(page, "summary").text.strip() == "It was good."


def test_legacy_events_are_shown_by_their_kind(make_viewer: Any):
    sample = (
        Path(__file__).parents[2]
        / "samples"
        / "layouts"
        / "2025-07.user_message.assistant_message.json"
    )
    viewer = make_viewer(TurnStart(), *map(raw, json.loads(sample.read_text())))
    anchors = [t["data-copy"] for t in viewer.page() if "data-copy" in t]
    for address in anchors:
        assert viewer.client.get(address).status_code == 200
    assert len(set(anchors)) == len(anchors) > 0


def test_copy_of_a_legacy_element_has_only_the_requested_event(make_viewer: Any):
    calls: list[Any] = [{"id": name, "name": name, "arguments": {}} for name in ("first", "second")]
    results = [{"id": "second", "content": "RG9uZS4=", "error": False}]
    old = {"timestamp": "2025-07-01T00:00:00Z", "reply": {"provider": "x", "tool_calls": calls}}
    old |= {"message": "Hi", "context": {}}
    viewer = make_viewer(
        TurnStart(), raw(old), raw(old | {"message": results, "reply": {"provider": "x"}})
    )
    replies = [
        json.loads(viewer.client.get(viewer.url(1, suffix)).content)
        for suffix in (".json", "-p2.json", "-p3.json")
    ]
    assert replies[0]["event"]["type"] == "chat_request"
    assert [reply["request"]["name"] for reply in replies[1:]] == ["first", "second"]
    assert [bool(reply["result"]) for reply in replies[1:]] == [False, True]


def test_pages_of_hostile_documents_are_inert_and_light(make_viewer: Any):
    viewer = make_viewer(*hostile.make_conversation())
    address, ids_so_far = f"/conversations/{viewer.conversation.pk}", set()
    while address:
        reply = viewer.client.get(address)
        assert len(reply.content) < 300_000
        page = parse_page(reply)
        assert (page.crossed, page.unclosed) == ([], [])
        main = [t for t in page if any(p.get("id") == "transcript" for p in t.parents)]
        foreign = {"script", "svg", "img", "iframe", "form", "style", "link", "meta", "base"}
        assert not foreign & {t.tag for t in main}
        assert not [t for t in main if {"style", "onerror", "onclick", "onload"} & set(t)]
        ids = [t["id"] for t in page if "id" in t]
        assert len(ids) == len(set(ids))
        ids_so_far |= set(ids)
        address = next((t["href"] for t in page if t.get("rel") == "next"), "")
    assert set(viewer.anchors) <= ids_so_far


def test_chat_request_keeps_its_line_breaks(make_viewer: Any):
    viewer = make_viewer(TurnStart(), ChatRequest("one\ntwo"), ChatResponse("message", "one\ntwo"))
    line_breaks = [tag for tag in viewer.page() if tag.tag == "br"]
    assert [tag.inside(**{"data-kind": "chat_request"}) for tag in line_breaks] == [True]
