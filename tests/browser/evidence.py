"""What is on record: the journal as the database holds it, and every place a secret could be."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page

from tests.canary.spellings import has_secret, list_spellings
from tests.machine.serving import Server

STORAGE = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"


class InquiryRecord(NamedTuple):
    """An inquiry as its two events have it."""

    id: str
    source: dict[str, Any]
    type: str
    outcome: dict[str, Any]


def read_journal(server: Server, conversation: int) -> list[dict[str, Any]]:
    """Return the events of a conversation, read past the application from its database file."""
    path = f"file:{server.data / 'jpweb.sqlite3'}?mode=ro"
    query = "SELECT text FROM store_journalentry WHERE conversation_id = ? ORDER BY position"
    with closing(sqlite3.connect(path, uri=True)) as database:
        rows = database.execute(query, [conversation]).fetchall()
    return [json.loads(text) for (text,) in rows]


def pair_inquiries(events: list[dict[str, Any]]) -> list[InquiryRecord]:
    """Pair the requests with their responses, in the order in which they were asked."""
    outcomes: dict[str, dict[str, Any]] = {
        event["id"]: {key: event[key] for key in ("outcome", "answer", "reason") if key in event}
        for event in events
        if event["type"] == "inquiry_response"
    }
    return [
        InquiryRecord(
            e["id"], e["source"], e["question"]["answer_type"]["type"], outcomes.get(e["id"], {})
        )
        for e in events
        if e["type"] == "inquiry_request"
    ]


def list_results(events: list[dict[str, Any]]) -> list[str]:
    """Return what the tool calls gave the model, decoded."""
    encoded = [event["content"] for event in events if event["type"] == "tool_call_response"]
    return [base64.b64decode(content).decode() for content in encoded]


def find_traces(canary: str, data: Path, *texts: str) -> list[str]:
    """Return where a secret is found, in any spelling: files under a folder, and texts."""
    places = [str(path) for path in data.rglob("*") if path.is_file() and _in(canary, path)]
    places += [text[:200] for text in texts if has_secret(text, canary)]
    return places


def kept_by(page: Page) -> str:
    """Return what the browser keeps for this page, and the page itself."""
    return str(page.evaluate(STORAGE)) + page.content()


def _in(canary: str, path: Path) -> bool:
    content = path.read_bytes()
    return any(spelling.encode() in content for spelling in list_spellings(canary))
