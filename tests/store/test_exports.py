"""What was read comes out again: the file byte for byte, and an element a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store import exports, journal
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation
from jpweb.stream.events import ChatResponse, EventKind, TurnStart
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.exporting import join_pieces
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db
REAL = Path(__file__).parents[2].parent / "shared" / "workspace"
LAYOUTS = Path(__file__).parents[1] / "samples" / "layouts"
NAME = "17000000000-a-talk"
KINDS: list[EventKind] = [
    TurnStart(),
    make_call("c"),
    make_inquiry("c.q.1"),
    make_answer("c.q.1"),
    make_result("c"),
]
WHOLE = making.stream_file(stream(*KINDS, ChatResponse("message", "Zürich\u2028 and\nmore")))


def same_bytes(root: Path) -> None:
    workspace, _ = mirror.mirror_workspace(root)
    files = [*(root / ".jp" / "conversations").glob("**/events.json")]
    assert workspace.conversations.count() == len(files) > 0
    for path in files:
        conversation = workspace.conversations.get(jp_id=path.parent.name.partition("-")[0])
        assert join_pieces(exports.export_jp_json(conversation)) == path.read_bytes(), (
            path.parent.name
        )
        lines(conversation)


def lines(conversation: Conversation) -> list[str]:
    """Return the lines of the export; there is one an element, and each is whole JSON."""
    data = join_pieces(exports.export_json_lines(conversation))
    assert data == b"" or data.endswith(b"\n")
    json_lines = data.decode().split("\n")[:-1]
    assert len(json_lines) == conversation.entry_count
    for line, element in zip(json_lines, journal.read_elements(conversation.pk), strict=True):
        assert json.loads(line) == json.loads(element.raw)
    return json_lines


def test_export_of_the_demo_is_byte_equal():
    same_bytes(mirror.DEMO_PATH)


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real workspace at {REAL}")
def test_export_of_the_real_workspace_is_byte_equal():
    same_bytes(REAL)


ODD = {
    "minified": json.dumps(json.loads(WHOLE), separators=(",", ":")).encode(),
    "tabs": json.dumps(json.loads(WHOLE), indent="\t").encode(),
    "CRLF": WHOLE.replace(b"\n", b"\r\n"),
    "CR": WHOLE.replace(b"\n", b"\r"),
    "BOM": b"\xef\xbb\xbf" + WHOLE,
    "no last line end": WHOLE[:-1],
    "blank around": b" \n\t" + WHOLE + b"\r\n ",
    "empty": b"[]",
    "empty, spread": b"[\n\n]\n",
    "one a line": b"[" + b",\n".join(json.dumps(v).encode() for v in json.loads(WHOLE)) + b"]",
    "no objects": b'[1, "two", null, [3, {"a" : 4}], 1e16, 0.10]',
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
def test_export_of_an_odd_layout_is_byte_equal(tmp_path: Path, data: bytes):
    write_folder(tmp_path, NAME, data)
    same_bytes(tmp_path)


@pytest.mark.parametrize("sample", sorted(LAYOUTS.glob("*.json")), ids=lambda path: path.stem)
def test_export_of_every_earlier_jp_layout_is_byte_equal(tmp_path: Path, sample: Path):
    write_folder(tmp_path, NAME, sample.read_bytes())
    same_bytes(tmp_path)


def test_export_of_pairs_in_messages_json_is_byte_equal(tmp_path: Path):
    data = (LAYOUTS / "messages.legacy_pair.json").read_bytes()
    folder = write_folder(tmp_path, NAME, None)
    (folder / "messages.json").write_bytes(data)
    workspace, report = mirror.mirror_workspace(tmp_path)
    assert report.problems == []
    conversation = workspace.conversations.get()
    assert join_pieces(exports.export_jp_json(conversation)) == data
    assert len(lines(conversation)) == len(json.loads(data))


def test_export_of_a_changed_layout_equals_the_last_file(tmp_path: Path):
    for data in (WHOLE, ODD["minified"], ODD["CRLF"], WHOLE):
        write_folder(tmp_path, NAME, data)
        same_bytes(tmp_path)


def test_export_of_a_native_conversation_has_jps_format():
    conversation = making.conversation(making.workspace())
    making.question(making.start_run(conversation))
    conversation.refresh_from_db()
    data = join_pieces(exports.export_jp_json(conversation))
    assert data == making.stream_file(journal.read_elements(conversation.pk))
    assert data == (json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n").encode()
    assert len(lines(conversation)) == 4


def test_export_without_events_is_an_empty_array_or_no_lines():
    conversation = making.conversation(making.workspace())
    assert (
        join_pieces(exports.export_jp_json(conversation)),
        join_pieces(exports.export_json_lines(conversation)),
    ) == (b"[]\n", b"")


def test_json_lines_export_escapes_line_breaks(tmp_path: Path):
    write_folder(tmp_path, NAME, b'[{"a": [NaN,\r\n 1]}, {"b":\n\n"\\n"}]')
    workspace, _ = mirror.mirror_workspace(tmp_path)
    assert join_pieces(exports.export_json_lines(workspace.conversations.get())).count(b"\n") == 2
