"""Redaction: the content is gone from every table, and the record says who replaced it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jpweb.evidence import keyed_hashes
from jpweb.store import journal
from jpweb.store.annotations import threads
from jpweb.store.backups import snapshot
from jpweb.store.choices import Act, Origin
from jpweb.store.jp_files import external_appends, mirror, workspace
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import (
    Conversation,
    Inquiry,
    JournalEntry,
    LedgerEntry,
    Person,
    Redaction,
    Review,
    Turn,
    Workspace,
)
from jpweb.store.redaction import application, remains
from jpweb.store.redaction.application import NotRedactable, RedactionRequest
from jpweb.store.redaction.remains import NotErased
from jpweb.store.search import indexer
from jpweb.stream import base64_fields, wire
from jpweb.stream.events import ChatRequest, EventKind, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryResponse
from tests.builders import (
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "canary-7f3a9c"


def dump_tables() -> str:
    """Return every row of every table as text."""
    texts = []
    for name in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)}")  # noqa: S608  the catalog's own name
            texts += [repr(row) for row in cursor.fetchall()]
    return "\n".join(texts)


def index_all() -> None:
    while indexer.index_next() is not None:
        pass


@pytest.fixture
def ada(home: Workspace) -> Person:
    return making.person("ada")


@pytest.fixture
def talk(home: Workspace, ada: Person) -> Conversation:
    """Return a conversation whose only run has ended, with the canary in each kind of event."""
    talk: Conversation = making.mirrored_conversation(
        home,
        ChatRequest(f"Log in with {CANARY}, please"),
        ToolCallRequest("c", "vault", {"path": f"a {CANARY} b", "list": [CANARY]}),
        make_inquiry("c.apply.1"),
        InquiryResponse("c.apply.1", Answered(CANARY)),
        ToolCallResponse("c", f"wrote {CANARY}", False),
    )
    talk.title = f"About {CANARY}"
    talk.save()
    index_all()
    return talk


def redact(talk: Conversation, person: Person, anchor: str = "", *strings: str) -> Any:
    request = RedactionRequest(anchor, "a leaked key", strings, is_conversation_wide=not anchor)
    return application.redact(talk, request, person)


def anchor_at(talk: Conversation, position: int) -> str:
    return JournalEntry.objects.get(conversation=talk, position=position).anchor


def test_redact_strings_leaves_the_canary_in_no_table(
    talk: Conversation, ada: Person, tmp_path: Path
):
    assert CANARY in dump_tables()
    preview = redact(talk, ada, "", CANARY)
    assert {event.position: event.counts for event in preview.events} == {
        0: {"content": 1},
        1: {"arguments": 2},
        3: {"answer": 1},
        4: {"content": 1},
    }
    assert CANARY not in dump_tables()
    index_all()
    sealing.seal_entries()
    assert CANARY not in dump_tables()
    backup = tmp_path / "backup.zip"
    snapshot.write_backup(backup, lambda _done, _total: None)
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert members
    assert not [name for name, data in members.items() if CANARY.encode() in data]


def test_redact_replaces_the_notes_of_reviews_and_what_their_hash_was_made_with(
    talk: Conversation, ada: Person
):
    review = Review.objects.create(
        conversation=talk,
        note=f"It says {CANARY} here.",
        nonce="17",
        round=1,
        revision=1,
        rounds_required=1,
        reviewed_at=datetime.now(UTC),
    )
    preview = redact(talk, ada, "", CANARY)
    assert preview.copies["review_notes"] == 1
    review.refresh_from_db()
    assert (review.note, review.nonce) == ("It says [redacted by Ada: a leaked key] here.", "")


def test_redact_replaces_strings_in_comments(talk: Conversation, ada: Person):
    comment = threads.add_comment(talk, anchor_at(talk, 0), ada, f"It says {CANARY} here.")
    preview = redact(talk, ada, "", CANARY)
    assert preview.copies["comments"] == 1
    comment.refresh_from_db()
    assert (comment.text, comment.nonce) == ("It says [redacted by Ada: a leaked key] here.", "")


def test_redact_whole_answer_replaces_row_and_keeps_shape(talk: Conversation, ada: Person):
    redact(talk, ada, anchor_at(talk, 3))
    marker = "[redacted by Ada: a leaked key]"
    assert Inquiry.objects.get(conversation=talk).answer == marker
    response = journal.read_elements(talk.pk)[3].kind
    assert response == InquiryResponse("c.apply.1", Answered(marker))
    assert Turn.objects.get(conversation=talk).title  # other events keep theirs


@pytest.mark.parametrize("position", range(5))
def test_redact_whole_event_keeps_its_kind(talk: Conversation, ada: Person, position: int):
    before = journal.read_elements(talk.pk)[position]
    redact(talk, ada, anchor_at(talk, position))
    after = journal.read_elements(talk.pk)[position]
    assert type(after.kind) is type(before.kind)
    assert CANARY not in after.raw
    assert "redacted by Ada" in json.dumps(after.kind.to_fields() if after.kind else {})


def test_redact_writes_an_entry_without_the_content(talk: Conversation, ada: Person):
    original = JournalEntry.objects.get(conversation=talk, position=3).text
    redact(talk, ada, anchor_at(talk, 3))
    entry = LedgerEntry.objects.get(act=Act.REDACTED)
    details = json.loads(entry.text)["details"]
    assert CANARY not in entry.text
    assert (entry.person_id, details["reason"]) == (ada.pk, "a leaked key")
    row = Redaction.objects.get()
    assert row.key not in entry.text
    assert keyed_hashes.compute_digest(row.key, original) == details["digest_before"]


def test_verification_accepts_a_redaction_and_no_other_change(home: Workspace, ada: Person):
    run = making.start_run(making.conversation(home))
    question = making.settle(making.question(run), Answered(CANARY))
    sealing.seal_entries()
    run.__class__.objects.filter(pk=run.pk).update(state="done")
    assert question.response_position is not None
    entry = JournalEntry.objects.get(
        conversation=run.conversation, position=question.response_position
    )
    redact(run.conversation, ada, entry.anchor)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace(CANARY, "forged"))
    assert [problem for problem in verification.find_problems() if "changed" in str(problem)]


def test_verification_finds_redacted_content_that_is_there_again(talk: Conversation, ada: Person):
    entry = JournalEntry.objects.get(conversation=talk, position=3)
    redact(talk, ada, entry.anchor)
    redact(talk, ada, anchor_at(talk, 4))
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text)
    (problem,) = verification.find_problems()
    assert f"event {entry.anchor} was changed in the journal after its redaction" in str(problem)
    JournalEntry.objects.filter(pk=entry.pk).delete()  # as where jp removed it from its file
    assert list(verification.find_problems()) == []


def test_verification_accepts_equal_events_that_a_mirror_pass_redacts_alike(
    tmp_path: Path, ada: Person
):
    """Anchors leave metadata out, so the pass gives both events what the last redaction left."""
    kind = ChatRequest(f"Log in with {CANARY}")
    elements = [make_element(kind, metadata={"note": note}) for note in ("one", "two")]
    write_folder(tmp_path, "17000000000-a-talk", elements)
    mirror.mirror_workspace(tmp_path)
    redact(Conversation.objects.get(), ada, "", CANARY)
    write_folder(tmp_path, "17000000000-a-talk", [*elements, *stream(make_call("c"))])
    mirror.mirror_workspace(tmp_path)
    assert len(set(JournalEntry.objects.values_list("text", flat=True)[:2])) == 1
    sealing.seal_entries()
    assert list(verification.find_problems()) == []


def test_redaction_of_a_running_conversation_is_refused(home: Workspace, ada: Person):
    run = making.start_run(making.conversation(home))
    with pytest.raises(NotRedactable, match="Stop it"):
        redact(run.conversation, ada, "", "Hello")


@pytest.mark.parametrize(
    ("strings", "reason", "problem"),
    [
        (("nowhere",), "x", "None of these"),
        (("vault", CANARY), "x", "a name or an id"),
        ((CANARY,), f"it was {CANARY}", "reason repeats"),
    ],
    ids=["absent", "name", "reason"],
)
def test_redaction_that_would_leave_content_is_refused(
    talk: Conversation, ada: Person, strings: tuple[str, ...], reason: str, problem: str
):
    anchor = anchor_at(talk, 1)
    if strings[0] == "vault":
        JournalEntry.objects.filter(conversation=talk, position=1).update(
            text=wire.write_element(
                making.event(ToolCallRequest("c", "vault", {"path": "vault"}))
            ).raw
        )
    before = dump_tables()
    with pytest.raises(NotRedactable, match=problem):
        application.redact(talk, RedactionRequest(anchor, reason, strings), ada)
    assert dump_tables() == before


def test_preview_changes_nothing(talk: Conversation, ada: Person):
    before = dump_tables()
    request = RedactionRequest("", "a leaked key", (CANARY,), is_conversation_wide=True)
    preview = application.preview_redaction(talk, request, ada)
    assert (len(preview.events), preview.copies) == (4, {"title": 1})
    assert dump_tables() == before


def test_mirror_pass_does_not_bring_the_content_back(tmp_path: Path, ada: Person):
    kinds: list[EventKind] = [
        make_call("c"),
        make_inquiry("c.apply.1"),
        make_answer("c.apply.1", CANARY),
    ]
    folder = write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    talk = Conversation.objects.get()
    file_before = (folder / "events.json").read_bytes()
    preview = redact(talk, ada, anchor_at(talk, 2))
    assert preview.file == "17000000000-a-talk"
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds, make_result("c")))
    mirror.mirror_workspace(tmp_path)
    assert JournalEntry.objects.filter(conversation=talk).count() == 4
    assert CANARY not in dump_tables()
    assert CANARY.encode() in file_before


def test_redact_again_keeps_the_first_redaction_over_mirror_passes(tmp_path: Path, ada: Person):
    kinds: list[EventKind] = [
        make_call("c"),
        make_inquiry("c.apply.1"),
        make_answer("c.apply.1", f"{CANARY} pin"),
    ]
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    talk = Conversation.objects.get()
    redact(talk, ada, "", CANARY)
    redact(talk, ada, "", " pin")
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds, make_result("c")))
    mirror.mirror_workspace(tmp_path)
    assert CANARY not in dump_tables()
    assert " pin" not in dump_tables()


@pytest.mark.parametrize(
    "text",
    [
        f'{{"type": "novel", "x": "{CANARY}"}}',
        f'{{"type": "chat_request", "content": ["{CANARY}"]}}',
        f'{{"{CANARY}',
    ],
    ids=["unknown", "broken", "no-json"],
)
@pytest.mark.parametrize("strings", [(), (CANARY,)], ids=["whole", "strings"])
def test_redact_element_of_another_shape(
    home: Workspace, ada: Person, text: str, strings: tuple[str, ...]
):
    talk = making.mirrored_conversation(home, raw(text))
    redact(talk, ada, anchor_at(talk, 0), *strings)
    assert CANARY not in dump_tables()


@pytest.mark.parametrize(
    "text",
    [
        f'{{"type": "novel", "body": ["{CANARY}"], "timestamp": "2026-01-01"}}',
        f'{{"type": "novel", "body": "{base64_fields.encode_text(CANARY)}"}}',
        f'{{"type": "chat_request", "content": ["{CANARY}"]}}',
        f'{{"timestamp": "2025-07-09T00:57:50Z", "message": "{CANARY}", "reply": {{}}}}',
    ],
    ids=["unknown", "unknown-base64", "broken", "legacy"],
)
def test_redact_whole_element_of_another_shape_replaces_its_copies(
    home: Workspace, ada: Person, text: str
):
    talk = making.mirrored_conversation(home, wire.read_element(text))
    noted = f"This novel of 2026-01-01 shows {CANARY}."
    comment = threads.add_comment(talk, anchor_at(talk, 0), ada, noted)
    preview = redact(talk, ada, anchor_at(talk, 0))
    assert preview.copies["comments"] == 1
    comment.refresh_from_db()
    assert comment.text == noted.replace(CANARY, "[redacted by Ada: a leaked key]")


def test_redact_note_of_a_decline(home: Workspace, ada: Person):
    response = InquiryResponse("call_1.apply.1", Cancelled(CancellationReason.USER))
    note = {"note": CANARY, "by": {"kind": "person"}}
    element = wire.write_element(replace(making.event(response), metadata={"jpweb": note}))
    talk = making.mirrored_conversation(home, element)
    redact(talk, ada, anchor_at(talk, 0))
    assert CANARY not in dump_tables()
    assert journal.read_elements(talk.pk)[0].events[0].note["by"] == {"kind": "person"}


def read_database() -> bytes:
    """Return the bytes of the database's files; SQLite's with those of its write-ahead log."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("CHECKPOINT")
            cursor.execute(
                "SELECT pg_read_binary_file(pg_relation_filepath(oid)) FROM pg_class"
                " WHERE pg_relation_filepath(oid) IS NOT NULL AND NOT relisshared"
            )
            return b"".join(bytes(row[0]) for row in cursor.fetchall())
    name = str(connection.settings_dict["NAME"])
    if "memory" in name:
        data: bytes = connection.connection.serialize()
        return data
    paths = [path for path in (name, f"{name}-wal") if Path(path).exists()]
    # Another process reads them: where one closes a file, it loses all its locks on that file.
    return subprocess.run(["cat", *paths], check=True, capture_output=True).stdout


def test_erase_remains_leaves_nothing_on_disk(home: Workspace, talk: Conversation, ada: Person):
    is_sqlite = connection.vendor == "sqlite"
    # Does not compress, so PostgreSQL keeps it as it is, in the TOAST table.
    filler = secrets.token_urlsafe(9_000)
    long = making.mirrored_conversation(home, ChatRequest(f"{filler} {CANARY} {filler}"))
    with connection.cursor() as cursor:
        if is_sqlite:
            cursor.execute("PRAGMA secure_delete=OFF")  # Debian's library has it on
        else:
            cursor.execute("ANALYZE")  # the statistics have values of columns
    redact(talk, ada, "", CANARY)
    redact(long, ada, "", CANARY)
    index_all()
    assert CANARY.encode() in read_database()
    statement_limits: list[str] = []

    def note_limit(execute: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("VACUUM") and not is_sqlite:
            row = connection.connection.execute("SHOW statement_timeout").fetchone()
            statement_limits.append(row[0])
        return execute(sql, *arguments)

    with connection.execute_wrapper(note_limit):
        remains.erase_remains()
    assert CANARY.encode() not in read_database()
    assert CANARY not in dump_tables()
    assert set(statement_limits) == (set() if is_sqlite else {"0"})


@pytest.mark.skipif(os.environ.get("JPWEB_TEST_VENDOR") is None, reason="SQLite has no roles")
def test_erase_remains_says_which_table_a_role_may_not_rewrite(home: Workspace):
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE jpweb_no_owner")
        cursor.execute("SET ROLE jpweb_no_owner")
        try:
            with pytest.raises(NotErased, match=r'"store_\w+".*owner of the database'):
                remains.erase_remains()
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE jpweb_no_owner")


def test_redacted_note_of_a_written_conversation_is_never_written_to_its_file(
    tmp_path: Path, ada: Person
):
    response = InquiryResponse("c.apply.1", Cancelled(CancellationReason.USER))
    note = {"note": CANARY, "by": {"kind": "person"}}
    decline = wire.write_element(replace(making.event(response), metadata={"jpweb": note}))
    elements = stream(make_call("c"), make_inquiry("c.apply.1"), decline)
    write_folder(tmp_path, "17000000000-a-talk", elements)
    mirror.mirror_workspace(tmp_path)
    Conversation.objects.update(origin=Origin.NATIVE)
    talk = Conversation.objects.get()
    redact(talk, ada, anchor_at(talk, 2))
    (disk_conversation,) = workspace.iterate_conversations(workspace.find_workspace(tmp_path))
    with pytest.raises(external_appends.CopiesDiverged, match="redacted here"):
        external_appends.append_external(talk, disk_conversation)
    assert CANARY not in dump_tables()
