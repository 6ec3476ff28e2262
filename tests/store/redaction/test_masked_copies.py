"""Redaction of what the scanner masked before: masks hide the text that copies are searched for."""

from __future__ import annotations

from pathlib import Path

import pytest

from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Person, SuspectedSecret
from jpweb.store.suspected_secrets import scanner, suggestions
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.builders import stream
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.redaction.canary import anchor_at, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
AWS_KEY = "AKIACANARYCANARY7F3A"
OTHER_KEY = f"ghp_{'a1B2' * 9}"
FOLDER = "17000000000-a-talk"
REPLIED = ChatResponse("message", "Done")
MARKER = "[redacted by Ada: a leaked key]"


def scan_all() -> None:
    while scanner.scan_next() is not None:
        pass


def mirror_talk(root: Path, title: str, *kinds: ChatRequest | ChatResponse) -> Conversation:
    """Let jp write a conversation of these events, and read it."""
    write = making.write_folder
    write(root, FOLDER, stream(*kinds), title=title)
    mirror.mirror_workspace(root)
    return Conversation.objects.get()


@pytest.mark.parametrize(
    ("string", "title"),
    [
        ("", MARKER),
        ("marker", f"Log in with {MARKER}"),
        (AWS_KEY, f"Log in with {MARKER}"),
        ("CANARY", f"Log in with AKIA{MARKER}{MARKER}7F3A"),
        ("with AKIA", f"Log in {MARKER}CANARYCANARY7F3A"),
    ],
    ids=["whole", "marker", "secret", "part", "overlap"],
)
def test_masked_title_stays_redacted_when_jp_adds_an_event(
    tmp_path: Path, ada: Person, string: str, title: str
):
    file_title, asked = f"Log in with {AWS_KEY}", ChatRequest(f"Log in with {AWS_KEY}")
    talk = mirror_talk(tmp_path, file_title, asked)
    scan_all()
    assert AWS_KEY not in Conversation.objects.get().title
    strings = [SuspectedSecret.objects.get().marker if string == "marker" else string]
    redact(talk, ada, anchor_at(talk, 0), *filter(None, strings))
    assert Conversation.objects.get().title == title
    assert mirror_talk(tmp_path, file_title, asked, REPLIED).title == title
    scan_all()
    assert not has_secret(dump_tables(), AWS_KEY)


def test_other_masks_of_a_redacted_title_stay_when_jp_adds_an_event(tmp_path: Path, ada: Person):
    file_title = f"Use {AWS_KEY}, PIN 4711 or {OTHER_KEY[:9]}…"
    asked = ChatRequest(f"Use {AWS_KEY}, PIN 4711 or {OTHER_KEY}")
    talk = mirror_talk(tmp_path, file_title, asked)
    scan_all()
    masked_title = Conversation.objects.get().title
    redact(talk, ada, anchor_at(talk, 0), "PIN 4711")
    title = masked_title.replace("PIN 4711", MARKER)
    assert mirror_talk(tmp_path, file_title, asked, REPLIED).title == title
    row = SuspectedSecret.objects.get(kind="AWS Access Key")
    suggestions.dismiss(row, ada, "an example")
    title = title.replace(row.marker, AWS_KEY)
    assert Conversation.objects.get().title == title
    assert mirror_talk(tmp_path, file_title, asked, REPLIED, REPLIED).title == title
    assert not has_secret(dump_tables(), "PIN 4711")


@pytest.mark.parametrize("length", [470, 485, 492])
def test_title_whose_mask_was_cut_stays_redacted(tmp_path: Path, ada: Person, length: int):
    file_title, asked = "x" * length + AWS_KEY, ChatRequest(f"Log in with {AWS_KEY}")
    talk = mirror_talk(tmp_path, file_title, asked)
    scan_all()
    assert len(Conversation.objects.get().title) == 500
    redact(talk, ada, anchor_at(talk, 0), SuspectedSecret.objects.get().marker)
    title = f"{'x' * length}{MARKER}"[:500]
    assert Conversation.objects.get().title == title
    assert mirror_talk(tmp_path, file_title, asked, REPLIED).title == title
    assert not has_secret(dump_tables(), AWS_KEY[:8])
