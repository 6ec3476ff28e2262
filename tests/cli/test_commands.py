"""The commands that end by themselves, called as manage.py calls them."""

from __future__ import annotations

import io
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from jpweb.cli.data_folder_lock import lock_data_dir
from jpweb.cli.management.commands.serve import Command
from jpweb.cli.standard_output import OutputError
from jpweb.runtime.exports import FORMATS
from jpweb.runtime.periodic import watch_workspaces
from jpweb.store import accounts, exports, journal
from jpweb.store.annotations import threads
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import CodeRequired
from jpweb.store.jp_files import mirror
from jpweb.store.models import (
    Conversation,
    JournalEntry,
    LedgerEntry,
    Membership,
    Person,
    Workspace,
)
from jpweb.store.people import second_factors, totp
from jpweb.store.workspace_config import demo_membership
from jpweb.stream.events import ChatRequest, EventKind, TurnStart
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.builders import make_answer, make_call, make_inquiry, make_result, stream
from tests.exporting import join_pieces
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "17000000000-a-talk"
KINDS: list[EventKind] = [
    TurnStart(),
    ChatRequest("Hi"),
    make_call("c"),
    make_inquiry("c.q.1"),
    make_answer("c.q.1"),
]
TOUR = 17911890124


@pytest.fixture(autouse=True)
def no_silo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JP_USER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")


def capture_command(command: str, *words: object, **options: Any) -> tuple[str, str]:
    """Return what a command wrote to its output and to its errors."""
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *map(str, words), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def get_refusal(command: str, *words: object) -> str:
    with pytest.raises(CommandError) as problem:
        capture_command(command, *words)
    message = str(problem.value)
    assert "\n" not in message
    return message


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace_folder = tmp_path / "garden"
    write_folder(workspace_folder, NAME, stream(*KINDS, make_result("c")))
    write_folder(workspace_folder, "17000000001-broken", b"[{", archived=True)
    (workspace_folder / ".jp" / ".id").write_text("# JP's own\nab1z9\n")
    return workspace_folder


def test_mirror_prints_json_that_adds_up():
    out, _ = capture_command("mirror", mirror.DEMO_PATH, "--json")
    report = json.loads(out)
    assert set(report) == {"workspace", "problems", "conversations"}
    assert report["workspace"]["root"] == "demo"
    conversations = report["conversations"]
    assert len(conversations) == Conversation.objects.count() == 5
    assert sum(c["elements"] for c in conversations) == JournalEntry.objects.count()
    for entry in conversations:
        assert sum(entry["kinds"].values()) == entry["elements"]
        assert entry["unanswered"] == entry["inquiries"].get("unanswered", 0)
        assert entry["id"] == f"jp-c{entry['folder'].partition('-')[0]}"
    assert [c["archived"] for c in conversations].count(True) == 1


def test_mirror_names_unreadable_files_and_creates_an_owner(root: Path):
    report = json.loads(capture_command("mirror", root, "--json")[0])
    (problem,) = report["problems"]
    assert problem.startswith("17000000001-broken: events.json")
    readable, broken = report["conversations"]
    assert (readable["elements"], readable["turns"], readable["inquiries"]) == (
        6,
        1,
        {"answered": 1},
    )
    assert (broken["elements"], bool(broken["problem"]), broken["archived"]) == (0, True, True)
    member = Membership.objects.get(workspace=Workspace.objects.get())
    assert member.person == accounts.get_or_create_owner()


def test_mirror_prints_a_table_and_a_line(root: Path, capsys: pytest.CaptureFixture[str]):
    out, err = capture_command("mirror", root)
    table = capsys.readouterr().out
    for word in ("conversation", "questions", NAME, "1 answered"):
        assert word in table
    assert out.startswith("2 conversations; 6 new events; 1 question (1 answered)")
    assert "17000000001-broken" in err
    second_output, _ = capture_command("mirror", root)
    assert second_output.startswith("2 conversations; 2 unchanged"), (
        "what is broken and stays is known"
    )


@pytest.mark.parametrize("command", ["mirror", "serve"])
def test_folder_name_with_control_characters_is_one_printed_line(
    root: Path, capsys: pytest.CaptureFixture[str], command: str
):
    for name in ("2-late\n2026-11-29 INFO jpweb.security: role", "3-\x1b[2J\u202e[red]"):
        write_folder(root, f"1700000000{name}", b"[{")
    err = io.StringIO()
    if command == "mirror":
        call_command("mirror", str(root), stdout=io.StringIO(), stderr=err)
    else:
        Command(stdout=io.StringIO(), stderr=err)._prepare_data(root)
    printed_text = capsys.readouterr().out + err.getvalue()
    assert r"3-\x1b[2J\u202e[red]" in printed_text
    assert all(line.isprintable() for line in printed_text.split("\n"))
    assert len(err.getvalue().splitlines()) == 3


def stop_following(root: Path) -> Workspace:
    """Mirror a workspace, stop following it, and add a conversation to its files."""
    workspace, _ = mirror.mirror_workspace(root)
    Workspace.objects.filter(pk=workspace.pk).update(is_followed=False)
    write_folder(root, "17000000099-later", [])
    return workspace


def test_mirror_of_a_stopped_workspace_reads_it_and_says_so(root: Path):
    workspace = stop_following(root)
    _, err = capture_command("mirror", root)
    assert f"{workspace.name} is not followed: an owner stopped it." in err
    assert Conversation.objects.filter(source="17000000099-later").exists()


def test_serve_reads_nothing_of_a_stopped_workspace_and_says_so(root: Path):
    workspace = stop_following(root)
    output = io.StringIO()
    command = Command(stdout=output)
    command._prepare_data(root)
    assert f"{workspace.name}: not followed, an owner stopped it\n" in output.getvalue()
    assert Membership.objects.filter(
        workspace=workspace, person=accounts.get_or_create_owner()
    ).exists()
    assert not Conversation.objects.filter(source="17000000099-later").exists()


def test_mirror_of_no_workspace_is_one_line(tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()
    assert str(bare) in get_refusal("mirror", bare)
    assert not Workspace.objects.exists()


def test_mirror_into_a_locked_database_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_args: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(mirror, "mirror_workspace", fail)
    assert "cannot be used: database locked" in get_refusal("mirror", root)


def test_mirror_watches_on_after_an_outage_of_the_database(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    errors = [OperationalError("database is locked"), KeyboardInterrupt()]

    async def follow(*_args: Any) -> None:
        raise errors.pop(0)

    monkeypatch.setattr(watch_workspaces, "follow_workspace", follow)
    _, err = capture_command("mirror", root, "--watch")
    assert err.endswith("Stopped.\n")
    assert errors == []


def test_check_stream_finds_nothing_to_do(root: Path):
    out, _ = capture_command("check_stream", root / ".jp" / "conversations" / NAME / "events.json")
    lines = out.splitlines()
    assert lines[0].startswith("elements: 6 (1 chat_request, 1 inquiry_request")
    assert lines[1:3] == ["turns: 1", "questions: 1 answered"]
    assert "byte for byte: yes" in lines
    assert "repairs: none" in lines
    assert "unreadable for jp before RFD 082: none" in lines
    assert not Workspace.objects.exists(), "nothing is imported"


def test_check_stream_lists_repairs_and_incompatibilities(tmp_path: Path):
    path = tmp_path / "odd.json"
    odd = [*KINDS[:4], InquiryResponse("c.q.1", Redacted())]
    path.write_bytes(b"\xef\xbb\xbf" + making.stream_file(stream(*odd)))
    before = path.read_bytes()
    report = json.loads(capture_command("check_stream", path, "--json")[0])
    assert (report["file"], report["faithful"], report["elements"]) == (str(path), True, 5)
    assert report["repair"], "the call has no result"
    assert [obstacle["position"] for obstacle in report["obstacles"]] == [None, 4]
    out, _ = capture_command("check_stream", path)
    assert f"repairs: {len(report['repair'])}" in out
    assert "  #4 inquiry_response cannot be opened: " in out
    assert "  file cannot be opened: the file begins with a byte order mark" in out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "path", sorted(mirror.DEMO_PATH.rglob("events.json")), ids=lambda p: p.parent.name
)
def test_check_stream_agrees_with_mirror_on_the_demo(path: Path):
    checked = json.loads(capture_command("check_stream", path, "--json")[0])
    entries = json.loads(capture_command("mirror", mirror.DEMO_PATH, "--json")[0])["conversations"]
    (entry,) = [candidate for candidate in entries if candidate["folder"] == path.parent.name]
    assert checked["faithful"] is True
    for key in ("elements", "kinds", "turns", "inquiries", "unanswered", "unknown", "broken"):
        assert checked[key] == entry[key]


@pytest.mark.parametrize("data", [b"", b"{}", b"[", b"\xff", b"null"])
def test_check_stream_of_no_stream_is_one_line(tmp_path: Path, data: bytes):
    path = tmp_path / "none.json"
    path.write_bytes(data)
    assert get_refusal("check_stream", path).startswith(f"{path} is not an event stream: ")


def test_check_stream_of_no_file_is_one_line(tmp_path: Path):
    for path in (tmp_path / "away.json", tmp_path):
        assert get_refusal("check_stream", path).startswith(f"{path} cannot be read: ")


@pytest.mark.parametrize("spelling", ["{}", "jp-c{}", "jp-c{}-{}", " jp-c{} "])
def test_export_knows_each_spelling(tmp_path: Path, spelling: str):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    target = tmp_path / "out"
    out, err = capture_command("export", spelling.format(TOUR, workspace.jp_id), "--output", target)
    (source,) = mirror.DEMO_PATH.rglob(f"{TOUR}-*/events.json")
    assert target.read_bytes() == source.read_bytes()
    assert (out, err) == ("", f"{target}: {len(target.read_bytes())} bytes\n")


@pytest.mark.parametrize("form", FORMATS)
def test_export_writes_to_standard_output(
    form: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 1, 2, 3, tzinfo=UTC))
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    call_command("export", str(TOUR), "--format", form)
    conversation = Conversation.objects.get(jp_id=TOUR)
    assert capfdbinary.readouterr().out == join_pieces(FORMATS[form].make_pieces(conversation))


def test_export_to_a_full_standard_output_is_an_error_of_it(monkeypatch: pytest.MonkeyPatch):
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(full))
        with pytest.raises(OutputError, match=r"^Standard output cannot be written: No space"):
            call_command("export", str(TOUR))


@pytest.mark.parametrize("form", ["markdown", "jp"])
def test_export_writes_comments_where_the_format_can(form: str, tmp_path: Path):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    conversation, person = workspace.conversations.get(jp_id=TOUR), making.person("ada")
    threads.add_comment(conversation, journal.find_anchor(conversation.pk, 0), person, "Look here")
    if form == "jp":
        assert "Only the formats markdown" in get_refusal("export", str(TOUR), "--comments")
        return
    target = tmp_path / "out"
    capture_command("export", str(TOUR), "--format", form, "--comments", "--output", target)
    assert "> Look here" in target.read_text()


@pytest.mark.parametrize("odd", ["", "tour", "jp-c", "-5", "1" * 20, "1" * 400, "17-", "17_1"])
def test_export_of_no_id_is_one_line(odd: str):
    assert f"“{odd}” is not a conversation id" in get_refusal("export", "--", odd)


def test_export_of_an_unknown_id_is_one_line():
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    for unknown in ("17", f"jp-c{TOUR}-zzzzz"):
        assert get_refusal("export", unknown) == f"No conversation here has the id {unknown}."


def test_export_of_an_ambiguous_id_names_both_workspaces(root: Path, tmp_path: Path):
    write_folder(tmp_path / "orchard", NAME, stream(*KINDS))
    (tmp_path / "orchard" / ".jp" / ".id").write_text("zz000\n")
    mirror.mirror_workspace(root)
    mirror.mirror_workspace(tmp_path / "orchard")
    message = get_refusal("export", "jp-c17000000000")
    for word in ("garden (ab1z9)", "orchard (zz000)", "jp-c17000000000-"):
        assert word in message
    capture_command("export", "jp-c17000000000-zz000", "--output", tmp_path / "out")
    conversation = Conversation.objects.get(workspace__jp_id="zz000")
    assert (tmp_path / "out").read_bytes() == join_pieces(exports.export_jp_json(conversation))


def test_export_into_a_folder_that_is_not_there_is_one_line_and_no_entry(tmp_path: Path):
    mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    target = tmp_path / "away" / "out"
    assert get_refusal("export", str(TOUR), "--output", target).startswith(f"{target} cannot be")
    assert not LedgerEntry.objects.filter(act=Act.EXPORTED).exists()


def test_erase_remains_refuses_the_folder_of_a_running_jpweb(settings: Any, tmp_path: Path):
    settings.DATA_DIR = tmp_path
    with closing(lock_data_dir()):
        assert get_refusal("erase_remains").startswith(f"jpweb is already running on {tmp_path}.")
    output = capture_command("erase_remains")[0]
    assert "tables hold nothing that was redacted" in output
    assert ("PostgreSQL" in output) is not settings.IS_SQLITE


def test_sign_in_link_signs_the_owner_in_once():
    owner = accounts.get_or_create_owner()
    address = capture_command("sign_in_link")[0].strip()
    token = address.rpartition("/sign-in#")[2]
    assert address.startswith("http://127.0.0.1:")
    assert accounts.use_link(token).person == owner


def test_sign_in_link_knows_others_by_name():
    ada = making.person("ada")
    token = capture_command("sign_in_link", "ada")[0].strip().rpartition("#")[2]
    assert accounts.use_link(token).person == ada
    assert get_refusal("sign_in_link", "nobody") == "No person named “nobody”."


def test_sign_in_link_removes_the_second_factor_of_who_lost_it():
    ada = making.person("ada")
    secret = second_factors.begin_setup(ada) or b""
    code = totp.compute_code(secret, int(clock.get_timestamp()) // totp.STEP_SECONDS)
    assert second_factors.confirm_setup(ada, code)
    token = capture_command("sign_in_link", "ada")[0].strip().rpartition("#")[2]
    with pytest.raises(CodeRequired):
        accounts.use_link(token)
    out, _ = capture_command("sign_in_link", "ada", "--remove-second-factor")
    assert "Turned off the second factor of Ada (account ada)." in out
    assert accounts.use_link(out.strip().rpartition("#")[2]).person == ada
    entry = LedgerEntry.objects.get(act=Act.SECOND_FACTOR_REMOVED)
    assert (entry.person_id, entry.subject) == (None, f"person:{ada.pk}")
    out, _ = capture_command("sign_in_link", "ada", "--remove-second-factor")
    assert "Ada (account ada) has no second factor." in out


def test_sign_in_link_of_an_ambiguous_name_asks_for_the_account():
    for account in ("eve-1", "eve-2"):
        Person.objects.create(username=account, first_name="Eve")
    assert get_refusal("sign_in_link", "Eve").endswith("the account's name instead: eve-1, eve-2.")
    assert "/sign-in#" in capture_command("sign_in_link", "eve-2")[0]


def test_a_hidden_demo_stays_hidden_when_the_server_starts_again():
    serve = Command(stdout=io.StringIO())
    serve._prepare_data(None)
    owner = accounts.get_or_create_owner()
    assert len(accounts.get_roles(owner.pk)) == 1
    demo_membership.hide_demo(owner.pk)
    serve._prepare_data(None)
    assert not accounts.get_roles(owner.pk)
