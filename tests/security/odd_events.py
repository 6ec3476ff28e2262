"""Conversations that mislead people or cost much, and all that shows or exports them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from time import perf_counter, sleep

from jpweb.runtime.exports import FORMATS
from jpweb.store.evidence.csv_rows import RISKY_CONTROLS, RISKY_SIGNS
from jpweb.stream.answer_type import Option, Select, Text
from jpweb.stream.events import ChatRequest, ChatResponse, ConfigDelta, TurnStart
from jpweb.stream.inquiry import Answered, InquiryResponse, InquirySource
from tests.builders import AT, make_call, make_inquiry, make_result, raw, stream
from tests.machine.serving import Server
from tests.machine.sizes import choose_size
from tests.machine.visiting import HttpReply, Visitor
from tests.security.hostile import FIRST
from tests.security.rows import find_conversation, query
from tests.store.making import write_folder

ODD = f"{FIRST + 901}-odd"
#: A conversation that stores tools by the thousand, and changes by the hundred.
LAYERED, CHANGE_COUNT = f"{FIRST + 902}-layered", choose_size(100, 500)
TOOL_COUNT = choose_size(1_000, 5_000)
#: A conversation of messages with as many keys as are masked in an event.
LEAKING, LEAK_COUNT, KEYS_PER_LEAK = f"{FIRST + 903}-leaking", choose_size(20, 100), 50
#: A cell that a spreadsheet evaluates.
FORMULA = '=HYPERLINK("http://127.0.0.1/","Open")'
#: Half of a surrogate pair, which no database takes.
HALF_PAIR = "half \ud800 of a pair"
#: A Cyrillic letter that looks like a Latin one, and a text that is shown from right to left.
LOOKALIKE, TURNED = "\u0410da", "\u202eelif_daer"
MARKUP = "<script>alert(1)</script>"
#: A text of which pages show the beginning, and options of which they show the first.
LONG, MANY_OPTIONS = "x" * 50_000, tuple(Option(f"{TURNED} {n}", TURNED) for n in range(2_000))
MAX_PAGE_CHARS = 300_000
#: Attributes that scripts read, and values of filters, which no person sees.
_VALUES = re.compile(r' (?:data-[\w-]+|value)="[^"]*"')
_HOSTILE = re.compile(f".{{0,60}}(?:\u202e|{re.escape(MARKUP)})")
_PAGES = ("", "/raw", "/compacted", "/timeline", "/configuration", "/outline", "/reviews")
_LISTS = ("/conversations", "/audit", "/audit/decisions", "/search?q=HYPERLINK", "/questions")
_ANCHORS = "SELECT DISTINCT anchor FROM store_journalentry WHERE conversation_id = ?"


def write_odd_conversations(root: Path) -> Path:
    """Write the conversations; return the file of events of the one with misleading texts."""
    _write_layered_conversation(root)
    _write_leaking_conversation(root)
    elements = stream(
        TurnStart(),
        ChatRequest(FORMULA, author=f"{LOOKALIKE} {TURNED}"),
        make_call("c1", TURNED, **{TURNED: FORMULA, "path": LOOKALIKE}),
        make_inquiry("c1.q.1", FORMULA, type=Text(), source=InquirySource.for_tool(TURNED)),
        InquiryResponse("c1.q.1", Answered(FORMULA)),
        make_result("c1", f"{FORMULA}\n{TURNED}\n{MARKUP}"),
        raw({"timestamp": AT, "type": "chat_response", "message": HALF_PAIR}),
        raw({"timestamp": AT, "type": MARKUP, TURNED: FORMULA}),
        raw({"timestamp": AT, "type": "tool_call_request", "id": 7, "name": [LOOKALIKE]}),
        raw([HALF_PAIR, None, 1e308]),
        ChatResponse("message", f"{MARKUP} {TURNED}"),
        make_call("c2", f"{TURNED}{LONG}", path=LONG),
        make_inquiry("c2.q.1", f"{FORMULA} {LONG}", type=Select(MANY_OPTIONS)),
        InquiryResponse("c2.q.1", Answered(LONG)),
        make_result("c2", LONG),
        ChatRequest("Plan", author=f"{TURNED}{LONG}", schema={LONG: TURNED}),
        raw({"timestamp": AT, "type": f"{TURNED}{LONG}"}),
    )
    labels = {TURNED: MARKUP, MARKUP: LONG} | {f"bed {number}": TURNED for number in range(1_000)}
    return write_folder(root, ODD, elements, title=FORMULA, labels=labels) / "events.json"


def _write_leaking_conversation(root: Path) -> None:
    """Write a conversation in each of whose messages other access keys are suspected."""
    keys = [f"AKIA{number:016}".replace("0", "Q") for number in range(LEAK_COUNT * KEYS_PER_LEAK)]
    texts = [
        " ".join(keys[start : start + KEYS_PER_LEAK])
        for start in range(0, len(keys), KEYS_PER_LEAK)
    ]
    messages = [ChatResponse("message", text) for text in texts]
    write_folder(root, LEAKING, stream(TurnStart(), *messages))


def is_leak_masked(server: Server) -> bool:
    """Tell whether the conversation with the keys is searched for secrets."""
    rows = query(
        server,
        "SELECT count(*) FROM store_suspectedsecret JOIN store_conversation"
        " ON store_conversation.id = conversation_id WHERE source = ?"
        " AND scanned_entry_count = entry_count",
        LEAKING,
    )
    return rows == [(LEAK_COUNT * KEYS_PER_LEAK,)]


def open_odd_conversation(server: Server, owner: Visitor, events_file: Path) -> None:
    """Open each page, JSON and export with the conversation; none obeys it, or fails."""
    page = f"/conversations/{find_conversation(server, ODD)}"
    anchors = [anchor for (anchor,) in query(server, _ANCHORS, page.rpartition("/")[2])]
    assert len(anchors) > 8
    event_pages = [f"/events/{anchor}" for anchor in anchors]
    for path in (*(f"{page}{name}" for name in (*_PAGES, *event_pages)), *_LISTS):
        reply = _open(owner, path)
        assert reply.status == 200, path
        # The page of an event has the whole of its texts, in parts.
        assert "/events/" in path or len(reply.text) < MAX_PAGE_CHARS, (path, len(reply.text))
        assert _find_hostile(reply.text) == [], (path, _find_hostile(reply.text))
    for name in event_pages:
        reply = _open(owner, f"{page}{name}.json")
        assert (reply.status, type(json.loads(reply.text))) == (200, dict), name
    exports = {name: _open(owner, f"{page}/export/{name}") for name in FORMATS}
    assert {reply.status for reply in exports.values()} == {200}
    assert exports["jp"].text == events_file.read_text()
    assert _find_hostile(exports["html"].text) == []
    _check_tables(owner)


def open_layered_conversation(server: Server, owner: Visitor) -> None:
    """Open the pages that load what the conversation stores."""
    page = f"/conversations/{find_conversation(server, LAYERED)}"
    for path in (page, f"{page}/configuration", page):
        assert _open(owner, path).status == 200, path


def _write_layered_conversation(root: Path) -> None:
    """Write the conversation with its base and changes of configuration."""
    change = ConfigDelta({"assistant": {"name": "x"}})
    folder = write_folder(root, LAYERED, stream(TurnStart(), *[change] * CHANGE_COUNT))
    tools = {f"t{number}": {"source": "builtin", "enable": "off"} for number in range(TOOL_COUNT)}
    (folder / "base_config.json").write_text(json.dumps({"conversation": {"tools": tools}}))


def _open(owner: Visitor, path: str) -> HttpReply:
    """Open a page, then pause as long as that took: a person reads what they open.

    Without a pause, any two people share one interpreter half and half, whatever they open.
    """
    start_time = perf_counter()
    reply = owner.get(path)
    sleep(perf_counter() - start_time)
    return reply


def _find_hostile(page: str) -> list[str]:
    """Return where a page turns its text around, or holds markup of the conversation."""
    return _HOSTILE.findall(_VALUES.sub("", page))


def _check_tables(owner: Visitor) -> None:
    """Download the audit tables: no cell is a formula, and every line is an object."""
    for path in ("/audit.csv", "/audit/decisions.csv"):
        reply = _open(owner, path)
        assert reply.status == 200
        cells = [cell for row in csv.reader(io.StringIO(reply.text)) for cell in row]
        assert not [cell for cell in cells if cell.startswith((*RISKY_SIGNS, *RISKY_CONTROLS))]
        assert path != "/audit.csv" or cells.count(f"'{FORMULA}") >= 3
    for path in ("/audit.jsonl", "/audit/decisions.jsonl"):
        reply = _open(owner, path)
        assert reply.status == 200
        assert {type(json.loads(line)) for line in reply.text.splitlines()} <= {dict}
