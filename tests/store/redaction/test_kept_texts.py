"""Strings that a redaction leaves: the preview and the result name each place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store.choices import Act, Role, SavedPage, SuspectedSecretState
from jpweb.store.jp_files import mirror
from jpweb.store.models import (
    Conversation,
    LedgerEntry,
    Person,
    Redaction,
    SavedSearch,
    SuspectedSecret,
    Workspace,
)
from jpweb.store.redaction import application, kept_texts
from jpweb.store.redaction.plans import NotRedactable, RedactionRequest
from jpweb.store.search import saved_searches
from jpweb.store.suspected_secrets import suggestions
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, EventKind, ToolCallRequest
from tests.builders import make_element, make_result, stream
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import scan_all
from tests.store.redaction.canary import CANARY, anchor_at, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
MARKER = "[redacted by Ada: a leaked key]"
AWS_KEY = "AKIACANARYCANARY7F3A"


def test_event_with_the_string_only_in_an_id_is_named(workspace: Workspace, ada: Person):
    call = ToolCallRequest(f"call-{CANARY}", "vault", {"path": "x"})
    both = ToolCallRequest("d", CANARY, {"path": CANARY})
    conversation = making.mirrored_conversation(workspace, ChatRequest(CANARY), call, both)
    request = RedactionRequest("", "a leaked key", (CANARY,), is_conversation_wide=True)
    for preview in (
        application.preview_redaction(conversation, request, ada),
        application.redact(conversation, request, ada),
    ):
        assert [event.position for event in preview.events] == [0, 2]
        kept_fields = [(event.position, event.fields) for event in preview.kept_events]
        assert kept_fields == [(1, ["id"]), (2, ["name"])]
    tables = dump_tables()
    assert (tables.count(f"call-{CANARY}"), f'"path": "{CANARY}"' in tables) == (1, False)


@pytest.mark.parametrize("is_conversation_wide", [False, True])
def test_string_only_in_an_id_is_refused_by_name(
    workspace: Workspace, ada: Person, *, is_conversation_wide: bool
):
    conversation = making.mirrored_conversation(workspace, make_result(f"call-{CANARY}"))
    request = RedactionRequest(
        anchor_at(conversation, 0), "x", (CANARY,), is_conversation_wide=is_conversation_wide
    )
    with pytest.raises(NotRedactable, match=r"only in names, ids or times.*event 0 \(id\)"):
        application.preview_redaction(conversation, request, ada)


def test_refusal_names_ten_events_and_counts_the_others(workspace: Workspace, ada: Person):
    results = [make_result(f"{CANARY}-{number}") for number in range(12)]
    conversation = making.mirrored_conversation(workspace, *results)
    with pytest.raises(NotRedactable, match=r"event 9 \(id\) and 2 more"):
        redact(conversation, ada, "", CANARY)


@pytest.mark.parametrize(
    ("text", "string", "fields"),
    [
        ('{"type": "novel-words", "x": 4.71199e5}', "4.71199e5", ["x"]),
        ('{"type": "novel-words", "x": {"novel": [true, null]}}', "novel", []),
        ('["a novel"]', "novel", ["unknown"]),
        ('{"a novel', "novel", ["unknown"]),
        ('{"a novel', "other", []),
    ],
    ids=["number", "form", "list", "no-json", "absent"],
)
def test_list_kept_fields_of_an_element_of_another_shape(text: str, string: str, fields: list[str]):
    assert kept_texts.list_kept_fields(wire.read_element(text), [string]) == fields


def test_author_and_time_are_kept_fields():
    element = make_element(ChatRequest("Hi", author="Berta"), at="2026-01-02 03:04:05.0")
    assert kept_texts.list_kept_fields(element, ["Berta", "04:05"]) == ["timestamp", "author"]


def test_copies_that_stay_are_counted_by_place(workspace: Workspace, ada: Person):
    member, stranger = making.person("eve", Role.READER, workspace), making.person("sam")
    conversation = making.mirrored_conversation(workspace, ChatRequest(f"Use {CANARY} now"))
    Conversation.objects.update(labels={"team": CANARY}, source=f"1-{CANARY}")
    for person in (member, stranger):
        saved_searches.save_search(person.pk, "mine", f"q=Use+{CANARY}%20now")
    saved_searches.save_search(member.pk, CANARY, "state=open", SavedPage.AUDIT)
    conversation.refresh_from_db()
    preview = redact(conversation, ada, "", f"Use {CANARY} now", CANARY)
    assert preview.kept_copies == {"labels": 1, "folder_name": 1, "saved_searches": 2}
    assert SavedSearch.objects.filter(query__contains=CANARY).count() == 2


def test_notes_of_dismissals_and_earlier_reasons_are_replaced(workspace: Workspace, ada: Person):
    conversation = making.mirrored_conversation(
        workspace, ChatRequest(f"{CANARY} and {AWS_KEY}, pin")
    )
    scan_all()
    suggestions.dismiss(SuspectedSecret.objects.get(), ada, f"belongs to {CANARY}")
    request = RedactionRequest("", f"after {CANARY}", ("pin",), is_conversation_wide=True)
    application.redact(conversation, request, ada)
    preview = redact(conversation, ada, "", CANARY)
    assert preview.copies == {"earlier_reasons": 1, "dismissal_notes": 1}
    assert preview.kept_copies == {"ledger_entries": 2}
    row = SuspectedSecret.objects.get()
    assert (row.state, row.note) == (SuspectedSecretState.DISMISSED, f"belongs to {MARKER}")
    reasons = list(Redaction.objects.order_by("id").values_list("reason", flat=True))
    assert reasons == [f"after {MARKER}", "a leaked key"]
    entries = LedgerEntry.objects.filter(text__contains=CANARY)
    assert set(entries.values_list("act", flat=True)) == {Act.REDACTED, Act.SUSPICION_DISMISSED}
    entries.delete()
    assert not has_secret(dump_tables(), CANARY)


def test_kept_columns_leave_out_a_damaged_ledger_entry(workspace: Workspace, ada: Person):
    conversation = making.mirrored_conversation(workspace, ChatRequest(f"{CANARY}, pin"))
    request = RedactionRequest("", f"after {CANARY}", ("pin",), is_conversation_wide=True)
    application.redact(conversation, request, ada)
    LedgerEntry.objects.update(text=json.dumps([CANARY]))
    assert kept_texts.count_kept_columns(conversation, [CANARY]) == {}


def test_title_stays_redacted_where_a_reason_was_redacted_later(tmp_path: Path, ada: Person):
    kind, title = ChatRequest("the vault"), "Open the vault now"
    making.write_folder(tmp_path, "17000000000-a-talk", stream(kind), title=title)
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    request = RedactionRequest("", f"it was {CANARY}", ("the vault",), is_conversation_wide=True)
    application.redact(conversation, request, ada)
    redact(Conversation.objects.get(), ada, "", CANARY)
    redacted_title = Conversation.objects.get().title
    assert redacted_title == f"Open [redacted by Ada: it was {MARKER}] now"
    making.write_folder(tmp_path, "17000000000-a-talk", stream(kind, make_result("c")), title=title)
    mirror.mirror_workspace(tmp_path)
    assert Conversation.objects.get().title == redacted_title


def test_redaction_kept_id_is_removed_once_edited_in_the_file(tmp_path: Path, ada: Person):
    kinds: list[EventKind] = [ChatRequest(CANARY), ToolCallRequest(f"call-{CANARY}", "vault", {})]
    making.write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    preview = redact(Conversation.objects.get(), ada, "", CANARY)
    assert [event.position for event in preview.kept_events] == [1]
    edited_kinds: list[EventKind] = [ChatRequest("removed"), ToolCallRequest("call-1", "vault", {})]
    making.write_folder(tmp_path, "17000000000-a-talk", stream(*edited_kinds))
    mirror.mirror_workspace(tmp_path)
    assert not has_secret(dump_tables(), CANARY)
