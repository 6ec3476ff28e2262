"""Events that someone, or jp, changes in the file after their redaction."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jpweb.evidence import bundle_verifier
from jpweb.store.choices import Role
from jpweb.store.jp_files import mirror, row_writer
from jpweb.store.ledger import verification
from jpweb.store.models import Conversation, JournalEntry, Person
from jpweb.stream.events import ChatRequest, Element
from tests import bundles
from tests.builders import make_call, raw, stream
from tests.store import making
from tests.store.making import write_folder
from tests.store.redaction.canary import CANARY, anchor_at, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)

FOLDER = "17000000000-a-talk"
PROBLEM = "Redacted events have changed in jp's file, and stay redacted here: event 1"
TIME, LATER = {"timestamp": "2026-01-02 03:04:05.0"}, {"timestamp": "2026-02-02 03:04:05.0"}
DELTA = {"type": "config_delta", "delta": {"env": {"KEY": CANARY}}}
REQUEST = {"type": "chat_request"}
RESULT = {"type": "tool_call_response", "id": "c", "is_error": False}


@pytest.fixture
def ada() -> Person:
    return making.person("ada")


def make_call_with(number: float) -> dict[str, Any]:
    arguments = {"key": CANARY, "number": number}
    return TIME | {"type": "tool_call_request", "id": "c", "name": "x", "arguments": arguments}


def mirror_events(root: Path, *values: Any) -> mirror.MirrorReport:
    """Write events between two others, and mirror them."""
    events: list[Element] = [raw(value) for value in values]
    write_folder(root, FOLDER, stream(make_call("a"), *events, make_call("z")))
    return mirror.mirror_workspace(root)[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (RESULT | TIME | {"content": CANARY}, RESULT | TIME | {"content": f"{CANARY} trimmed"}),
        (RESULT | TIME | {"content": CANARY}, RESULT | LATER | {"content": CANARY}),
        (DELTA, DELTA | LATER),
        (make_call_with(2**80), make_call_with(2.0**80)),
        (REQUEST | {"content": [CANARY]}, REQUEST | TIME | {"content": CANARY}),
    ],
    ids=["edited", "moved-in-time", "time-added", "integer-as-float", "repaired"],
)
@pytest.mark.parametrize(
    "strings", [(), pytest.param((CANARY,), marks=pytest.mark.proof)], ids=["whole", "strings"]
)
def test_event_changed_in_the_file_stays_redacted(
    tmp_path: Path, ada: Person, before: Any, after: Any, strings: tuple[str, ...]
):
    mirror_events(tmp_path, before)
    conversation = Conversation.objects.get()
    redact(conversation, ada, anchor_at(conversation, 1), *strings)
    texts = list(JournalEntry.objects.order_by("position").values_list("text", "anchor"))
    for _ in range(2):
        report = mirror_events(tmp_path, after)
        assert CANARY not in dump_tables()
        assert (
            list(JournalEntry.objects.order_by("position").values_list("text", "anchor")) == texts
        )
        assert report.problems == [f"{FOLDER}: {PROBLEM}"]
        assert Conversation.objects.get().problem == PROBLEM
        Conversation.objects.update(fingerprint="")
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(bundles.make_bundle(conversation))
    assert bundle_verifier.verify_bundle(bundle).problems == []
    assert list(verification.find_problems()) == []


def test_problem_of_a_changed_event_ends_with_its_cause(tmp_path: Path, ada: Person):
    event = RESULT | TIME | {"content": CANARY}
    mirror_events(tmp_path, event)
    redact(Conversation.objects.get(), ada, "", CANARY)
    for values in ([event], []):
        mirror_events(tmp_path, event | {"content": f"{CANARY}!"})
        assert Conversation.objects.get().problem == PROBLEM
        assert mirror_events(tmp_path, *values).problems == []
        assert Conversation.objects.get().problem == ""
    assert JournalEntry.objects.count() == 2


def test_two_changed_events_without_a_time_keep_their_places(tmp_path: Path, ada: Person):
    deltas = [DELTA | {"delta": {"env": {name: CANARY}}} for name in "AB"]
    mirror_events(tmp_path, *deltas)
    redact(Conversation.objects.get(), ada, "", CANARY)
    texts = list(JournalEntry.objects.order_by("position").values_list("text", flat=True))
    report = mirror_events(tmp_path, *[delta | TIME for delta in deltas])
    assert list(JournalEntry.objects.order_by("position").values_list("text", flat=True)) == texts
    assert report.problems == [f"{FOLDER}: {PROBLEM}, event 2"]


def test_events_after_a_deleted_redacted_one_are_shown(tmp_path: Path, ada: Person):
    write_folder(tmp_path, FOLDER, stream(make_call("a"), ChatRequest(CANARY)))
    mirror.mirror_workspace(tmp_path)
    redact(Conversation.objects.get(), ada, "", CANARY)
    other = raw({"type": "chat_request", "timestamp": "2026-03-03 00:00:00.0", "content": "Next"})
    write_folder(tmp_path, FOLDER, stream(make_call("a"), other))
    _, report = mirror.mirror_workspace(tmp_path)
    assert report.problems == []
    assert JournalEntry.objects.get(position=1).text == other.raw


def test_changed_event_of_a_long_conversation_stays_redacted(
    tmp_path: Path, ada: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(row_writer, "MAX_BATCH_ENTRIES", 2)
    mirror_events(tmp_path, DELTA)
    redact(Conversation.objects.get(), ada, "", CANARY)
    assert mirror_events(tmp_path, DELTA | TIME).problems == [f"{FOLDER}: {PROBLEM}"]
    assert CANARY not in dump_tables()


def test_page_of_a_conversation_names_its_changed_events(tmp_path: Path, ada: Person):
    mirror_events(tmp_path, DELTA)
    conversation = Conversation.objects.get()
    redact(conversation, ada, "", CANARY)
    mirror_events(tmp_path, DELTA | TIME)
    client = Client()
    client.force_login(making.person("rex", Role.READER, conversation.workspace))
    page = unescape(client.get(f"/conversations/{conversation.pk}").content.decode())
    assert f"{PROBLEM}." in page
    assert "can't be read" not in page
