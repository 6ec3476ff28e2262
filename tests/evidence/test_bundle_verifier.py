"""The bundle's verifier: each damage is found and named, by the standard library alone."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from jpweb.evidence import bundle_files, bundle_verifier, record_checks, scripts
from jpweb.evidence.bundle_verifier import (
    ENTRIES,
    EVENTS,
    HEAD,
    MANIFEST,
    METADATA,
    PROOF,
    SIGNATURE,
)
from jpweb.evidence.ledger_verifier import encode_canonical, hash_text
from jpweb.store.choices import Origin
from jpweb.store.evidence import importer
from jpweb.store.jp_files import mirror
from jpweb.store.ledger import signing, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, JournalEntry
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.stream.events import ChatRequest, ChatResponse, EventKind
from tests import bundles
from tests.builders import stream
from tests.bundles import Files, edit_lines, find_name, list_problems, sign_again
from tests.store import making
from tests.store.making import write_folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundled_conversation() -> tuple[Conversation, bytes]:
    return bundles.copy_bundled_conversation()


@pytest.fixture
def conversation(bundled_conversation: tuple[Conversation, bytes]) -> Conversation:
    return bundled_conversation[0]


@pytest.fixture
def bundle(bundled_conversation: tuple[Conversation, bytes], tmp_path: Path) -> Path:
    return bundles.write_file(bundled_conversation[1], tmp_path)


def run_script(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the bundle as a third person would, without jpweb's packages."""
    script = path.with_name("verify_bundle.py")
    script.write_bytes(bundles.read_files(path)["verify_bundle.py"])
    command = [sys.executable, "-I", "-S", str(script), str(path), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_bundle_verifies_by_its_own_script(bundle: Path):
    done = run_script(bundle, "--public-key", signing.get_public_key())
    assert (done.returncode, done.stderr) == (0, "")
    assert "Conversations: 1, events: 5, ledger entries: 3 of 8." in done.stdout


def test_script_names_a_problem_and_ends_with_1(bundle: Path):
    files = bundles.read_files(bundle)
    del files["README.txt"]
    bundles.write_files(bundle, files)
    done = run_script(bundle)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "README.txt: it is missing\n"


@pytest.mark.parametrize(
    "script",
    [scripts.build_bundle_script(), scripts.build_ledger_script()],
    ids=["bundle", "ledger"],
)
def test_script_imports_the_standard_library_alone(script: str):
    assert "jpweb.evidence" not in script
    definitions = [
        node.name
        for node in ast.parse(script).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    assert sorted(definitions) == sorted(set(definitions))


def test_missing_bundle_ends_the_script_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert bundle_verifier.main([str(tmp_path / "none.zip")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_flipped_byte_in_any_file_is_found_and_named(bundle: Path):
    original = bundles.read_files(bundle)
    for name, data in original.items():
        middle = len(data) // 2
        changed = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :] if data else b"x"
        bundles.write_files(bundle, original | {name: changed})
        problems = list_problems(bundle)
        expected_name = MANIFEST if name == SIGNATURE else name
        assert any(problem.startswith((name, expected_name)) for problem in problems), name


def test_verifier_names_missing_and_additional_files(bundle: Path):
    original = bundles.read_files(bundle)
    for name in original:
        bundles.write_files(bundle, {key: original[key] for key in original if key != name})
        assert any(line.startswith(f"{name}: it is missing") for line in list_problems(bundle))
    bundles.write_files(bundle, original | {"more.txt": b""})
    assert list_problems(bundle) == ["more.txt: the manifest does not list it"]


def swap_texts(lines: list[dict[str, Any]]) -> None:
    lines[0]["text"], lines[1]["text"] = lines[1]["text"], lines[0]["text"]
    lines[0]["text_hash"], lines[1]["text_hash"] = lines[1]["text_hash"], lines[0]["text_hash"]


def reverse_lines(lines: list[dict[str, Any]]) -> None:
    lines.reverse()


def cut_last(lines: list[dict[str, Any]]) -> None:
    lines.pop()


def change_text(lines: list[dict[str, Any]]) -> None:
    lines[0]["text"] = lines[0]["text"].replace("run_started", "run_stopped")


def change_text_and_hash(lines: list[dict[str, Any]]) -> None:
    change_text(lines)
    lines[0]["text_hash"] = hash_text(lines[0]["text"])


def change_text_to_list(lines: list[dict[str, Any]]) -> None:
    lines[0] |= {"text": "[1]", "text_hash": hash_text("[1]")}


@pytest.mark.parametrize(
    ("name", "edit", "problem"),
    [
        (ENTRIES, swap_texts, "the entries do not lead to the signed head"),
        (ENTRIES, reverse_lines, "is in the wrong place, or there twice"),
        (ENTRIES, cut_last, "it has 2 entries, not 3"),
        (ENTRIES, change_text, "the text of entry 6 was changed"),
        (ENTRIES, change_text_to_list, "the text of entry 6 is not a JSON object"),
        (ENTRIES, change_text_and_hash, "the entries do not lead to the signed head"),
        (EVENTS, reverse_lines, "is in the wrong place"),
        (EVENTS, cut_last, "it has 4 events, not 5"),
    ],
)
def test_change_that_was_signed_again_is_found(
    bundle: Path, name: str, edit: Callable[[list[dict[str, Any]]], None], problem: str
):
    files = bundles.read_files(bundle)
    file_name = find_name(files, name)
    files[file_name] = edit_lines(files[file_name], edit)
    sign_again(files)
    bundles.write_files(bundle, files)
    assert any(
        line.startswith(f"{file_name}: ") and problem in line for line in list_problems(bundle)
    )


def cut_ledger(files: Files) -> None:
    """Leave out the newest entry, its number and the hashes, as who hides an act would."""
    files[ENTRIES] = edit_lines(files[ENTRIES], cut_last)
    manifest = json.loads(files[MANIFEST])
    manifest["ledger"]["entries"] -= 1
    files[MANIFEST] = json.dumps(manifest).encode()


def test_ledger_slice_cut_with_its_number_is_found(bundle: Path):
    files = bundles.read_files(bundle)
    cut_ledger(files)
    sign_again(files)
    bundles.write_files(bundle, files)
    assert [line.partition(":")[0] for line in list_problems(bundle)] == [ENTRIES]


def change_answer(line: dict[str, Any]) -> None:
    line["text"] = line["text"].replace("true", "false")


def test_changed_answer_contradicts_its_ledger_entry(bundle: Path):
    files = bundles.read_files(bundle)
    name = find_name(files, EVENTS)
    files[name] = edit_lines(files[name], lambda lines: change_answer(lines[-1]))
    sign_again(files)
    bundles.write_files(bundle, files)
    (problem,) = list_problems(bundle)
    assert "is not the one of ledger entry 7" in problem


def test_foreign_key_is_named(bundle: Path):
    problems = list_problems(bundle, public_key="00" * 32)
    assert problems == [f"{SIGNATURE}: it is signed with another key: {signing.get_public_key()}"]


def test_bundle_signed_with_another_key_than_its_head_is_found(bundle: Path):
    files = bundles.read_files(bundle)
    with override_settings(SECRET_KEY="another installation"):
        key = signing.get_public_key()
        manifest = json.loads(files[MANIFEST]) | {"public_key": key}
        files[MANIFEST] = json.dumps(manifest).encode()
        sign_again(files)
    bundles.write_files(bundle, files)
    assert list_problems(bundle) == [
        f"{HEAD}: it is signed with another key: {signing.get_public_key()}"
    ]


def test_redaction_after_the_fact_is_counted_and_no_damage(
    conversation: Conversation, tmp_path: Path
):
    entry = JournalEntry.objects.filter(conversation=conversation).order_by("position").last()
    assert entry is not None
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace("true", '"█"'))
    place = Place(conversation.workspace_id, conversation.pk)
    act: Any = f"{record_checks.REDACTION_ACT}_event"
    path = bundles.write_bundle(conversation, tmp_path)
    assert "is not the one of ledger entry" in list_problems(path)[0]
    record_act(act, OPERATOR, place, event=entry.anchor)
    path.write_bytes(bundles.make_bundle(conversation))
    report = bundle_verifier.verify_bundle(path)
    assert (report.problems, report.redacted) == ([], 1)
    assert "1 event was redacted after the fact." in bundle_verifier.describe_bundle(report)
    (row,) = [row for row in report.manifest["left_out"] if "redacted" in row["what"]]
    assert row["count"] == 1
    record_act(act, OPERATOR, place, event=entry.anchor)
    path.write_bytes(bundles.make_bundle(conversation))
    report = bundle_verifier.verify_bundle(path)
    assert (report.problems, report.redacted) == ([], 1)
    (row,) = [row for row in report.manifest["left_out"] if "redacted" in row["what"]]
    assert row["count"] == 1


@pytest.fixture
def edited_file_bundle(tmp_path: Path) -> Path:
    """Return a bundle of a mirrored conversation, with an event redacted and then gone from jp."""
    secret = "hunter2-pass"

    def mirror_events(*kinds: EventKind) -> Conversation:
        write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
        mirror.mirror_workspace(tmp_path)
        return Conversation.objects.get()

    reply = ChatResponse("message", "Done")
    request = RedactionRequest("", "a leaked key", (secret,), is_conversation_wide=True)
    conversation = mirror_events(ChatRequest(f"Use {secret}"), reply)
    application.redact(conversation, request, making.person("ada"))
    conversation = mirror_events(reply)
    assert JournalEntry.objects.get(conversation=conversation).kind == reply.TAG
    assert list(verification.find_problems()) == []
    return bundles.write_bundle(conversation, tmp_path)


def test_redacted_event_that_jp_has_since_removed_is_counted_and_no_damage(
    edited_file_bundle: Path,
):
    report = bundle_verifier.verify_bundle(edited_file_bundle)
    assert (report.problems, report.redacted, report.changed_in_jp) == ([], 1, 1)
    done = run_script(edited_file_bundle)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 redacted event is not in it: jp has since changed or removed it." in done.stdout
    assert importer.import_bundle(edited_file_bundle, making.workspace("Target").name)


@pytest.mark.parametrize("origin", [Origin.NATIVE, Origin.IMPORTED, "", None])
def test_redacted_event_missing_from_other_origins_is_damage(
    edited_file_bundle: Path, origin: str | None
):
    files = bundles.read_files(edited_file_bundle)
    name = find_name(files, METADATA)
    files[name] = json.dumps(json.loads(files[name]) | {"origin": origin}).encode()
    sign_again(files)
    bundles.write_files(edited_file_bundle, files)
    (problem,) = list_problems(edited_file_bundle)
    assert "of ledger entry 1 is missing" in problem


def make_member(name: str, **values: Any) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    for key, value in values.items():
        setattr(member, key, value)
    return member


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        (make_member("../evil"), "such a name is refused"),
        (make_member("/etc/passwd"), "such a name is refused"),
        (make_member("a/../b"), "such a name is refused"),
        (make_member("a\\b"), "such a name is refused"),
        (make_member("folder/"), "such a name is refused"),
        (make_member("link", external_attr=0o120777 << 16), "it is a link"),
        (make_member("packed", compress_type=zipfile.ZIP_BZIP2), "compressed in an unknown way"),
    ],
    ids=["parent", "absolute", "dots", "backslash", "folder", "link", "compression"],
)
def test_hostile_member_is_refused(bundle: Path, member: zipfile.ZipInfo, problem: str):
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr(member, b"x", compress_type=member.compress_type)
    (line,) = list_problems(bundle)
    assert problem in line


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_file_that_is_there_twice_is_refused(bundle: Path):
    with zipfile.ZipFile(bundle, "a") as archive:
        archive.writestr(MANIFEST, b"{}")
    assert list_problems(bundle) == [f"{MANIFEST}: the bundle has it twice"]


@pytest.mark.parametrize(
    ("bound", "problem"),
    [
        ("MAX_FILES", "it has more than 3 files"),
        ("MAX_TOTAL_BYTES", "it unpacks to more than 3 bytes"),
        ("MAX_FILE_BYTES", "it unpacks to more than 3 bytes"),
        ("MAX_JSON_BYTES", "it is longer than 3 bytes"),
        ("MAX_LINE_BYTES", "a line is longer than 3 bytes"),
    ],
)
def test_bound_refuses_before_more_is_read(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, bound: str, problem: str
):
    monkeypatch.setattr(bundle_files, bound, 3)
    assert any(problem in line for line in list_problems(bundle))


@pytest.mark.parametrize(
    "data", [b"", b"no zip", b"PK\x05\x06" + bytes(18)], ids=["empty", "text", "empty zip"]
)
def test_file_that_is_no_bundle_is_a_problem(tmp_path: Path, data: bytes):
    path = tmp_path / "bundle.zip"
    path.write_bytes(data)
    assert len(list_problems(path)) == 1


@pytest.mark.parametrize(
    "content",
    [b"[]", b"{}", b"{", b'{"format":"jpweb-evidence-1"}', b"[" * 100_000, b'{"format":"other"}'],
)
def test_hostile_manifest_is_a_problem_and_no_error(bundle: Path, content: bytes):
    bundles.write_files(bundle, bundles.read_files(bundle) | {MANIFEST: content})
    assert list_problems(bundle)


@pytest.mark.parametrize("name", [HEAD, ENTRIES, PROOF, SIGNATURE])
@pytest.mark.parametrize("content", [b"[]", b"{}", b"{", b"\xff", b'{"nodes":[1],"head":3}'])
def test_hostile_part_is_a_problem_and_no_error(bundle: Path, name: str, content: bytes):
    bundles.write_files(bundle, bundles.read_files(bundle) | {name: content})
    assert list_problems(bundle)


def test_good_bundle_verifies_where_output_is_ascii(bundle: Path):
    files = bundles.read_files(bundle)
    manifest = json.loads(files[MANIFEST]) | {"made_by": "Zoë 早"}
    files[MANIFEST] = encode_canonical(manifest).encode()
    sign_again(files)
    bundles.write_files(bundle, files)
    script = bundle.with_name("verify_bundle.py")
    script.write_bytes(files["verify_bundle.py"])
    command = [sys.executable, "-S", str(script), str(bundle)]
    environment = {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, check=False, capture_output=True, timeout=60, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"by Zo\xeb \u65e9, of: none." in done.stdout


def test_output_has_no_control_characters(bundle: Path, capsys: pytest.CaptureFixture[str]):
    files = bundles.read_files(bundle)
    manifest = json.loads(files[MANIFEST]) | {"made_by": "Ada\x1b[2J\nNo problems"}
    files[MANIFEST] = encode_canonical(manifest).encode()
    sign_again(files)
    bundles.write_files(bundle, files)
    assert bundle_verifier.main([str(bundle)]) == 0
    output = capsys.readouterr().out
    assert "Ada\\x1b[2J\\nNo problems" in output
