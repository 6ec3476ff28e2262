"""Commands of the ledger, and the hourly copy of its head."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Value
from django.db.models.functions import Replace
from django.test import override_settings

from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.notifications import apprise_sender
from jpweb.runtime.periodic import publish_ledger_head
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.ledger import entry_macs, kept_heads, sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import JournalEntry, LedgerEntry, LedgerHead, LedgerTile
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


def call(*arguments: str) -> str:
    """Run a command in this process; return what it printed."""
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.fixture(autouse=True)
def heads_path(settings: Any, tmp_path: Path) -> Path:
    """Return the file of kept heads of this test."""
    settings.LEDGER_HEADS = tmp_path / "heads.jsonl"
    path: Path = settings.LEDGER_HEADS
    return path


@pytest.fixture
def deliveries(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sequences of the heads that are sent in this test."""
    sequences: list[int] = []

    async def send_message(_key: int, _url: str, _title: str, body: str) -> str:
        sequences.append(json.loads(body)["head"]["sequence"])
        return ""

    monkeypatch.setattr(apprise_sender, "send_message", send_message)
    settings.LEDGER_HEAD_URL = "mailto://ada@example.org"
    return sequences


def read_kept(path: Path) -> tuple[int, int]:
    """Return the number of heads in a file, and its permissions."""
    return len(path.read_text().splitlines()), path.stat().st_mode & 0o777


def write_kept(path: Path, statement: dict[str, Any]) -> None:
    path.write_text(f"{json.dumps(statement)}\n")


def read_last_kept(path: Path) -> Any:
    return json.loads(path.read_text().splitlines()[-1])


def record_roles(count: int) -> None:
    for number in range(count):
        record_act(Act.ROLE_CHANGED, OPERATOR, Place(number))


def test_verify_ledger_seals_and_counts_the_entries():
    record_roles(1)
    assert call("verify_ledger").startswith("No problems in 1 entry. Signed by the key ")
    record_roles(2)
    assert call("verify_ledger").startswith("No problems in 3 entries. Signed by the key ")


def test_verify_ledger_names_changes_of_the_signing_key():
    record_roles(1)
    with override_settings(SECRET_KEY="of somebody else"):
        LedgerEntry.objects.update(mac=entry_macs.compute_mac(LedgerEntry.objects.get().text_hash))
        sealing.seal_entries()
    assert "The head is signed with the key of another installation." in call("verify_ledger")
    record_roles(1)
    sealing.seal_entries()
    output = call("verify_ledger")
    assert output.startswith("entry 2 says that the signing key was changed.")
    assert "another installation" not in output
    assert "No problems in 3 entries." in output


def test_verify_ledger_of_an_empty_ledger_says_so(heads_path: Path):
    assert call("verify_ledger").splitlines() == [
        "The ledger is empty.",
        f"No kept heads were compared: {heads_path} does not exist.",
    ]


def test_verify_ledger_says_with_how_many_kept_heads_it_compared(heads_path: Path, tmp_path: Path):
    record_roles(1)
    line = call("ledger_head")
    other_path = tmp_path / "elsewhere.jsonl"
    other_path.write_text(line)
    other = ("--heads", str(other_path))
    assert call("verify_ledger", *other).splitlines()[1:] == [
        f"Compared with 1 kept head; {heads_path} does not exist."
    ]
    heads_path.touch()
    assert call("verify_ledger").splitlines()[1:] == [
        f"No kept heads were compared: {heads_path} has none."
    ]
    heads_path.write_text(line)
    assert call("verify_ledger", *other).splitlines()[1:] == ["Compared with 2 kept heads."]


def test_verify_ledger_names_each_problem_and_fails(
    heads_path: Path, capsys: pytest.CaptureFixture[str]
):
    record_roles(3)
    sealing.seal_entries()
    LedgerEntry.objects.filter(sequence=2).update(
        text=Replace("text", Value("operator"), Value("nobody"))
    )
    with pytest.raises(CommandError, match=r"^The ledger has 1 problem\.$"):
        call_command("verify_ledger")
    assert capsys.readouterr().out.splitlines() == [
        "entry 2: its text was changed",
        f"No kept heads were compared: {heads_path} does not exist.",
    ]


def test_verify_ledger_finds_an_answer_that_was_changed_in_the_journal(
    capsys: pytest.CaptureFixture[str],
):
    question = making.question(making.start_run(making.conversation(making.workspace())))
    making.settle(question, making.ANSWER)
    assert call("verify_ledger").startswith("No problems")
    responses = JournalEntry.objects.filter(kind="inquiry_response")
    responses.update(text=Replace("text", Value("true"), Value("false")))
    with pytest.raises(CommandError, match="1 problem"):
        call_command("verify_ledger")
    assert "was changed in the journal" in capsys.readouterr().out


def test_ledger_head_is_one_line_that_verify_ledger_reads(tmp_path: Path):
    record_roles(2)
    heads_file = tmp_path / "elsewhere.jsonl"
    heads_file.write_text(call("ledger_head"))
    assert json.loads(heads_file.read_text())["head"]["sequence"] == 2
    assert call("verify_ledger", "--heads", str(heads_file)).startswith("No problems")
    LedgerEntry.objects.all().delete()
    LedgerHead.objects.all().delete()
    record_roles(2)
    with pytest.raises(CommandError, match="1 problem"):
        call_command("verify_ledger", heads=[heads_file])


def test_ledger_head_of_an_empty_ledger_is_refused():
    with pytest.raises(CommandError, match="The ledger is empty"):
        call("ledger_head")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}\n",
        "no json\n",
        "[]\n",
        '{"head": {"sequence": 1}}\n',
        '{"head": {"chain_hash": ""}}\n',
    ],
)
def test_file_without_heads_is_refused_by_name(tmp_path: Path, text: str):
    path = tmp_path / "other.txt"
    path.write_text(text)
    with pytest.raises(CommandError, match=f"^{path}"):
        call("verify_ledger", "--heads", str(path))


@pytest.mark.parametrize("count", [0, 2], ids=["only", "last"])
def test_verify_ledger_names_a_torn_line_of_kept_heads_and_continues(
    heads_path: Path, capsys: pytest.CaptureFixture[str], count: int
):
    record_roles(3)
    for _ in range(count):
        with heads_path.open("a") as file:
            file.write(call("ledger_head"))
    with heads_path.open("a") as file:
        file.write('{"head": {"seq')
    sealing.seal_entries()
    LedgerEntry.objects.filter(sequence=2).delete()
    with pytest.raises(CommandError, match=r"^The ledger has 3 problems\.$"):
        call_command("verify_ledger")
    assert capsys.readouterr().out.splitlines() == [
        f"head: {heads_path}, line {count + 1} is not a signed head",
        "entry 2: entry 2 is missing",
        "entry 3: it does not follow the entry before it",
        f"Compared with {count} kept heads."
        if count
        else f"No kept heads were compared: {heads_path} has none.",
    ]


@pytest.mark.parametrize("option", ["--head", "--heads"])
def test_missing_file_of_heads_is_refused_by_name(tmp_path: Path, option: str):
    with pytest.raises(CommandError, match=r"missing\.jsonl cannot be read"):
        call("verify_ledger", option, str(tmp_path / "missing.jsonl"))


def test_own_file_of_heads_that_cannot_be_read_is_refused_by_name(settings: Any, tmp_path: Path):
    settings.LEDGER_HEADS = tmp_path / ("a" * 300)
    record_roles(1)
    with pytest.raises(CommandError, match="a cannot be read: File name too long"):
        call("verify_ledger")


def test_purge_ledger_empties_old_reads_alone(monkeypatch: pytest.MonkeyPatch):
    record_act(Act.READ, OPERATOR, Place(1))
    with monkeypatch.context() as past:
        past.setattr(clock, "now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
        record_act(Act.READ, OPERATOR, Place(2))
        record_roles(1)
    sealing.seal_entries()
    with pytest.raises(CommandError, match="--older-than must be at least 1, not 0"):
        call("purge_ledger", "--older-than", "0")
    with pytest.raises(CommandError, match="--older-than must be at most 36500 days, not 20240101"):
        call("purge_ledger", "--older-than", "20240101")
    assert call("purge_ledger", "--older-than", "1") == "1 entry cleared.\n"
    assert call("purge_ledger", "--older-than", "1") == "0 entries cleared.\n"
    assert [entry.sequence for entry in LedgerEntry.objects.filter(text="")] == [2]


def test_verify_ledger_makes_changed_hashes_of_the_tree_again():
    record_roles(LedgerTile.SIZE)
    sealing.seal_entries()
    LedgerTile.objects.update(node_hash="0" * 64)
    with pytest.raises(CommandError, match="The ledger has 1 problem"):
        call("verify_ledger")
    first_line, second_line, _ = call("verify_ledger", "--rebuild-tiles").splitlines()
    assert first_line == "Stored hashes that differed: 1."
    assert second_line.startswith(f"No problems in {LedgerTile.SIZE} entries.")


async def test_head_is_appended_once_and_sent(
    settings: Any, heads_path: Path, monkeypatch: pytest.MonkeyPatch
):
    deliveries: list[str] = []

    async def send_message(_key: int, url: str, title: str, body: str) -> str:
        deliveries.append(f"{url} {title} {json.loads(body)['head']['sequence']}")
        return ""

    monkeypatch.setattr(apprise_sender, "send_message", send_message)
    settings.LEDGER_HEAD_URL = "mailto://ada@example.org"
    await run_in_background_thread(record_roles, 2)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    await publish_ledger_head.publish_head()
    assert read_kept(heads_path) == (1, 0o600)
    assert deliveries == ["mailto://ada@example.org jpweb: ledger head 2 2"]


async def test_head_whose_sending_failed_is_sent_in_the_next_round(
    settings: Any, heads_path: Path, monkeypatch: pytest.MonkeyPatch
):
    deliveries: list[int] = []
    results = ["No response.", "", ""]

    async def send_message(_key: int, _url: str, _title: str, body: str) -> str:
        deliveries.append(json.loads(body)["head"]["sequence"])
        return results[len(deliveries) - 1]

    monkeypatch.setattr(apprise_sender, "send_message", send_message)
    settings.LEDGER_HEAD_URL = "mailto://ada@example.org"
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    for _ in range(3):
        await publish_ledger_head.publish_head()
    assert deliveries == [1, 1]
    assert read_kept(heads_path) == (1, 0o600)


async def test_head_is_sent_where_its_file_cannot_be_written(
    settings: Any, tmp_path: Path, deliveries: list[int]
):
    settings.LEDGER_HEADS = tmp_path
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    for _ in range(2):
        await publish_ledger_head.publish_head()
    assert deliveries == [1]


@pytest.mark.parametrize("signature", ["", "00" * 64])
async def test_forged_last_line_keeps_no_head_from_file_and_recipient(
    heads_path: Path, deliveries: list[int], signature: str
):
    await run_in_background_thread(record_roles, 3)
    await run_in_background_thread(sealing.seal_entries)
    write_kept(heads_path, {"head": {"sequence": 3}, "signature": signature})
    await publish_ledger_head.publish_head()
    assert deliveries == [3]
    statement = await run_in_background_thread(kept_heads.make_statement)
    assert read_last_kept(heads_path) == statement


async def test_head_is_sent_again_after_a_restart(deliveries: list[int]):
    await run_in_background_thread(record_roles, 2)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    publish_ledger_head._sent_heads.clear()
    await publish_ledger_head.publish_head()
    assert deliveries == [2, 2]


async def test_head_that_cannot_be_sent_is_logged(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def send_message(*_arguments: Any) -> str:
        return "No response."

    monkeypatch.setattr(apprise_sender, "send_message", send_message)
    settings.LEDGER_HEAD_URL = "mailto://ada@example.org"
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    assert "Could not send the ledger head 1: No response." in caplog.text


async def test_head_that_no_service_takes_is_logged_with_the_setting(
    settings: Any, caplog: pytest.LogCaptureFixture
):
    settings.LEDGER_HEAD_URL = "json://secret"
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    assert (
        "Could not send the ledger head 1: JPWEB_LEDGER_HEAD_URL is not a notification address: "
        "“json” is not supported here. Use one of: mailto, "
    ) in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("json://secret", "“json” is not supported here. Use one of: mailto, mailtos, slack, "),
        ("zulip://bot@org/secret", "The URL is invalid. Format of Zulip: zulip://"),
    ],
    ids=["service", "key"],
)
def test_check_names_the_setting_of_an_invalid_address_without_it(
    settings: Any, capsys: pytest.CaptureFixture[str], url: str, reason: str
):
    settings.LEDGER_HEAD_URL = url
    call_command("check")
    text = capsys.readouterr().err
    assert "JPWEB_LEDGER_HEAD_URL is not a notification address, so no head" in text
    assert reason in text
    assert "secret" not in text


@pytest.mark.parametrize("url", ["", "mailto://ada@example.org"], ids=["none", "valid"])
def test_check_is_silent_about_a_valid_address(
    settings: Any, capsys: pytest.CaptureFixture[str], url: str
):
    settings.LEDGER_HEAD_URL = url
    call_command("check")
    assert "JPWEB_LEDGER_HEAD_URL" not in capsys.readouterr().err


async def test_head_is_kept_in_a_folder_that_is_made_for_it(settings: Any, tmp_path: Path):
    settings.LEDGER_HEADS = tmp_path / "kept" / "heads.jsonl"
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    assert read_kept(settings.LEDGER_HEADS) == (1, 0o600)
    assert settings.LEDGER_HEADS.parent.stat().st_mode & 0o777 == 0o700


async def test_file_of_heads_that_cannot_be_written_is_logged_with_the_setting(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    settings.LEDGER_HEADS = tmp_path
    await run_in_background_thread(record_roles, 1)
    await run_in_background_thread(sealing.seal_entries)
    await publish_ledger_head.publish_head()
    assert f"{tmp_path} cannot be written: Is a directory. Set JPWEB_LEDGER_HEADS" in caplog.text
