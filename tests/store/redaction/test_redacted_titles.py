"""A redacted title stays redacted although jp's file keeps the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.jp_files import mirror
from jpweb.store.masking import redacted_titles
from jpweb.store.models import Conversation, Person, Redaction
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.builders import stream
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.making import write_folder
from tests.store.redaction.canary import CANARY, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
FOLDER = "17000000000-a-talk"
ASKED, REPLIED = ChatRequest(f"Log in with {CANARY}"), ChatResponse("message", "Done")
MASK, CUT_MASK = "[masked Slack Token, 3fa2c1ab]", "[masked Slack Token, 3fa2c1ab, 9 characters]"
TITLE, MARKER = f"Log in with {CANARY}", "[redacted by Ada: a leaked key]"


@pytest.mark.parametrize(
    ("strings", "length"),
    [
        pytest.param((CANARY,), 0, id="strings"),
        pytest.param((), 0, id="whole"),
        pytest.param((CANARY,), 6_000, id="strings-long"),
        pytest.param((), 6_000, id="whole-long", marks=pytest.mark.proof),
    ],
)
def test_title_stays_redacted_when_jp_adds_an_event(
    tmp_path: Path, ada: Person, strings: tuple[str, ...], length: int
):
    texts = [ChatResponse("message", f"word {number}") for number in range(length)]
    write_folder(tmp_path, FOLDER, stream(ASKED, *texts), title=TITLE)
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    redact(conversation, ada, conversation.journal.get(position=0).anchor, *strings)
    title = Conversation.objects.get().title
    assert CANARY not in title
    assert MARKER in title
    write_folder(tmp_path, FOLDER, stream(ASKED, *texts, REPLIED), title=TITLE)
    mirror.mirror_workspace(tmp_path)
    assert Conversation.objects.get().title == title
    assert not has_secret(dump_tables(), CANARY)


def test_title_that_was_cut_in_the_secret_stays_redacted(tmp_path: Path, ada: Person):
    title = "x" * 492 + CANARY
    write_folder(tmp_path, FOLDER, stream(ASKED), title=title)
    mirror.mirror_workspace(tmp_path)
    redact(Conversation.objects.get(), ada, "", CANARY)
    write_folder(tmp_path, FOLDER, stream(ASKED, REPLIED), title=title)
    mirror.mirror_workspace(tmp_path)
    assert Conversation.objects.get().title == f"{'x' * 492}{MARKER}"[:500]
    assert not has_secret(dump_tables(), CANARY[:8])


def test_title_that_jp_changes_afterwards_is_shown(tmp_path: Path, ada: Person):
    write_folder(tmp_path, FOLDER, stream(ASKED), title=f"About {CANARY}")
    mirror.mirror_workspace(tmp_path)
    redact(Conversation.objects.get(), ada, "", CANARY)
    write_folder(tmp_path, FOLDER, stream(ASKED, REPLIED), title="Herbs")
    mirror.mirror_workspace(tmp_path)
    assert Conversation.objects.get().title == "Herbs"


@pytest.mark.parametrize(
    ("row_title", "file_title", "is_kept"),
    [
        (f"a {MARKER} b {MARKER} c", "a x b y c", True),
        (f"{MARKER}{MARKER}", "xy", True),
        (MARKER, "any", True),
        (f"a {MARKER} b", "a  b", False),
        (f"a {MARKER} b {MARKER} c", "a x c", False),
        (f"a {MARKER} b", "a x b!", False),
        (("a" * 480 + f" {MARKER}")[:500], "a" * 480 + " x", True),
        (("a" * 480 + f" {MARKER}")[:500], "b" * 480 + " x", False),
        (("a" * 490 + MARKER)[:500], "a" * 490 + " x", True),
        (("a" * 490 + MARKER)[:500], "b" * 490 + " x", False),
        ("a" * 490 + "[redacted", "a" * 490 + "x", False),
        ((f"a {MARKER} " + "b" * 500)[:500], "a x " + "b" * 496, True),
        ("a [redacted by Ada: another reason] b", "a x b", False),
        (f"a {MASK} b {MARKER}", "a x b y", True),
        (f"a {MASK} b {MARKER}", "a x c y", False),
        (f"{MARKER} b {CUT_MASK}…", "y b x…", True),
        ((f"{MASK} " + "a" * 460 + MARKER)[:500], "x " + "a" * 460 + "y", True),
        (f"a {MASK} b", "a x b", False),
        ("a b", "a b", False),
    ],
)
def test_title_is_kept_where_it_is_that_of_the_file_with_markers(
    ada: Person, row_title: str, file_title: str, is_kept: bool
):
    conversation = making.conversation(making.workspace())
    conversation.title = row_title
    Redaction.objects.create(
        conversation=conversation, anchor="e-1", person=ada, reason="a leaked key"
    )
    chosen = redacted_titles.choose_title(conversation, file_title)
    assert chosen == (row_title if is_kept else file_title)
