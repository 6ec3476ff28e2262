from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, find_commands

from jpweb import installation
from jpweb.cli import entrypoint
from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable
from tests.machine.serving import ROOT
from tests.machine.sizes import mark_proof
from tests.machine.templates import inherit_environment


def run_jpweb(
    home: Path, *arguments: str, stdout: int = subprocess.PIPE, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run ``jpweb`` from a folder that is no checkout."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "jpweb", *arguments],
        cwd=home,
        env=inherit_environment()
        | {"PYTHONPATH": str(ROOT), "JPWEB_DATA": str(home / "data")}
        | variables,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_help_names_each_command_of_jpweb():
    folders = Path(entrypoint.__file__).parent.rglob("management")
    commands = [name for folder in folders for name in find_commands(str(folder))]
    assert sorted(entrypoint.COMMANDS) == sorted(commands)


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]], ids=str)
def test_help_is_a_line_a_command(capsys: pytest.CaptureFixture[str], arguments: list[str]):
    entrypoint.main(["/usr/bin/jpweb", *arguments])
    output = capsys.readouterr().out
    assert output.startswith("usage: jpweb COMMAND")
    for name, line in entrypoint.COMMANDS.items():
        assert f"  {name} " in output
        assert line in output
    assert max(map(len, output.splitlines())) <= 100


@pytest.mark.proof  # two ways to the same text of Django
def test_help_of_a_command_equals_its_help_option(tmp_path: Path):
    result = run_jpweb(tmp_path, "help", "mirror")
    assert result.stdout.startswith("usage: jpweb mirror")
    assert run_jpweb(tmp_path, "mirror", "--help").stdout == result.stdout


def test_help_makes_no_data_folder(tmp_path: Path):
    result = run_jpweb(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_help_is_printed_where_the_terminal_lacks_a_character(tmp_path: Path):
    result = run_jpweb(tmp_path, "help", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, "")
    assert "\\u201cjpweb COMMAND --help\\u201d lists options." in result.stdout


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]):
    entrypoint.main(["jpweb", "--version"])
    assert capsys.readouterr().out == f"jpweb {metadata.version('jpweb')}\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("serv", " Did you mean “serve”? "), *mark_proof(("dance", " “jpweb help”"))],
)
def test_unknown_command_is_one_line(tmp_path: Path, name: str, hint: str):
    result = run_jpweb(tmp_path, name)
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"jpweb: unknown command “{name}”.{hint}")


def test_runserver_leads_to_serve():
    with pytest.raises(SystemExit, match=r"^jpweb: .* Use “jpweb serve”\.$"):
        entrypoint.main(["jpweb", "runserver"])


def test_short_command_loads_neither_the_views_nor_the_web_server(tmp_path: Path):
    program = (
        "import sys\n"
        "from jpweb.cli import entrypoint\n"
        "try:\n"
        "    entrypoint.main(['jpweb', 'ledger_head'])\n"
        "finally:\n"
        "    print(*{'jpweb.urls', 'jpweb.store.models', 'daphne.server'} & sys.modules.keys())\n"
    )
    result = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=inherit_environment() | {"PYTHONPATH": str(ROOT), "JPWEB_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "jpweb.store.models\n"


@pytest.mark.proof  # half a second of a start
def test_server_on_sqlite_loads_no_driver_that_it_does_not_need(tmp_path: Path):
    """Each takes 0.15 to 0.18 s of processor time: a start took 1.9 s with them, now 1.2."""
    program = (
        "import sys, django\n"
        "django.setup()\n"
        "import jpweb.asgi, jpweb.urls, jpweb.cli.management.commands.serve\n"
        "print(*{'jpweb.urls', 'psycopg', 'redis', 'requests'} & sys.modules.keys())\n"
    )
    variables = {"DJANGO_SETTINGS_MODULE": "jpweb.settings", "JPWEB_SECRET_KEY": "only-for-tests"}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=inherit_environment() | variables | {"JPWEB_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "jpweb.urls\n"


def test_short_command_checks_the_settings(tmp_path: Path):
    result = run_jpweb(tmp_path, "sign_in_link", JPWEB_MODEL="gpt-17/large")
    assert result.returncode == 1
    assert "JPWEB_MODEL begins with “gpt-17”, which is not a provider." in result.stderr


def test_bad_setting_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(os.environ, "DJANGO_SETTINGS_MODULE", "jpweb.settings")
    result = subprocess.run(
        [sys.executable, "-m", "jpweb", "check"],
        cwd=ROOT,
        env=inherit_environment() | {"JPWEB_DATA": str(tmp_path), "JPWEB_PORT": "many"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == "jpweb: JPWEB_PORT must be a number, not “many”.\n"


@pytest.mark.parametrize(
    ("name", "variables", "line"),
    [
        ("team", {"JPWEB_DATA": "{home}/file/x", "JPWEB_SECRET_KEY": "k"}, "Not a directory."),
        ("backup", {"JPWEB_DATA": "{home}/loop"}, "not “{home}/loop”."),
        ("backup", {"JPWEB_DATA": "{home}/undecodable"}, "or set JPWEB_SECRET_KEY."),
        # Their paths are read, and their errors caught, where those above are.
        *mark_proof(
            ("team", {"JPWEB_DATA": "{home}/taken", "JPWEB_SECRET_KEY": "k"}, "File exists."),
            ("backup", {"JPWEB_DATA": "~nosuchuser/x"}, "not “~nosuchuser/x”."),
            ("backup", {"JPWEB_WORKSPACE_ROOTS": "{home}/loop"}, "not “{home}/loop”."),
            ("backup", {"JPWEB_LEDGER_HEADS": "{home}/loop"}, "not “{home}/loop”."),
        ),
    ],
)
def test_path_that_cannot_be_used_is_one_line(
    tmp_path: Path, name: str, variables: dict[str, str], line: str
):
    (tmp_path / "file").touch()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "team").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "undecodable").mkdir()
    (tmp_path / "undecodable" / "secret-key").write_bytes(b"\xff")
    arguments = ARGUMENTS_BY_COMMAND.get(name, [])
    values: dict[str, Any] = {key: value.format(home=tmp_path) for key, value in variables.items()}
    result = run_jpweb(tmp_path, name, *arguments, **values)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.endswith(f"{line.format(home=tmp_path)}\n")


@pytest.mark.proof  # a rare start; tests/cli/test_team.py starts teams under make chaos
def test_team_starts_with_the_settings_of_a_worker_without_a_database(tmp_path: Path):
    """The error of other commands under these settings recommends it."""
    result = run_jpweb(tmp_path, "team", "--help", JPWEB_RUNS="workers")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("usage: jpweb team")


#: Arguments with which each command does what it can on an empty data folder.
ARGUMENTS_BY_COMMAND = {
    "backup": ["file"],
    "check_stream": ["file"],
    "deactivate_person": ["ada"],
    "erase_remains": [],
    "export": ["17"],
    "import_evidence": ["file", "--workspace", "Garden"],
    "index": [],
    "ledger_head": [],
    "mirror": ["."],
    "purge_ledger": ["--older-than", "1"],
    "reactivate_person": ["ada"],
    "restore": ["file"],
    "sign_in_link": [],
    "sign_out": ["ada"],
    "verify_evidence": ["file"],
    "verify_ledger": [],
    "work": [],
}
#: Commands that work on what a jpweb has stored, so they make no database.
READING_COMMANDS = (
    "deactivate_person",
    "erase_remains",
    "export",
    "import_evidence",
    "index",
    "ledger_head",
    "purge_ledger",
    "reactivate_person",
    "sign_in_link",
    "sign_out",
    "verify_ledger",
)
#: The rest takes the same ways, and is tried at full size.
TYPICAL_COMMANDS = ("verify_ledger",)


def test_commands_that_end_are_tried_on_an_empty_data_folder():
    assert ARGUMENTS_BY_COMMAND.keys() == entrypoint.COMMANDS.keys() - {"serve", "team"}


@pytest.mark.parametrize(
    "name",
    [*TYPICAL_COMMANDS, *mark_proof(*sorted({*ARGUMENTS_BY_COMMAND} - {*TYPICAL_COMMANDS}))],
)
def test_command_on_an_empty_data_folder_prints_no_traceback(tmp_path: Path, name: str):
    result = run_jpweb(tmp_path, name, *ARGUMENTS_BY_COMMAND[name])
    assert len(result.stderr.splitlines()) == (1 if result.returncode else 0), result.stderr
    assert "Traceback" not in result.stderr
    if name in READING_COMMANDS:
        database = tmp_path / "data" / "jpweb.sqlite3"
        assert f"The database {database} holds no jpweb. Set JPWEB_DATA" in result.stderr
        assert not database.exists()


@pytest.mark.parametrize("name", READING_COMMANDS)
def test_command_for_stored_data_refuses_a_database_that_is_none(
    monkeypatch: pytest.MonkeyPatch, name: str
):
    def refuse() -> None:
        raise DatabaseUnavailable("It holds no jpweb.")

    monkeypatch.setattr(bootstrap, "use_existing_database", refuse)
    with pytest.raises(CommandError, match=r"^It holds no jpweb\.$"):
        call_command(name, *ARGUMENTS_BY_COMMAND[name])


def test_command_that_cannot_connect_says_why_in_one_line(tmp_path: Path):
    url = "postgres://x@127.0.0.1:1/x"
    result = run_jpweb(tmp_path, "sign_in_link", DATABASE_URL=url)
    (line,) = result.stderr.splitlines()
    assert result.returncode == 1
    assert line.startswith("CommandError: The database x cannot be used: database unavailable (")
    assert "Connection refused" in line


def test_command_whose_reader_stops_ends_without_a_traceback(tmp_path: Path):
    reading, writing = os.pipe()
    os.close(reading)
    result = run_jpweb(tmp_path, "help", stdout=writing)
    os.close(writing)
    assert (result.returncode, result.stderr) == (128 + signal.SIGPIPE, "")


def test_command_whose_output_has_no_space_is_one_line(tmp_path: Path):
    full = os.open("/dev/full", os.O_WRONLY)
    result = run_jpweb(tmp_path, "help", stdout=full)
    os.close(full)
    line = "jpweb: Standard output cannot be written: No space left on device.\n"
    assert (result.returncode, result.stderr) == (1, line)


def test_error_of_another_file_is_no_error_of_the_output(monkeypatch: pytest.MonkeyPatch):
    def fail(_arguments: list[str]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some file")

    monkeypatch.setattr(entrypoint, "execute_from_command_line", fail)
    with pytest.raises(OSError, match="some file"):
        entrypoint.main(["jpweb", "mirror"])


def test_interrupted_command_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    def interrupt(_arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entrypoint, "execute_from_command_line", interrupt)
    with pytest.raises(SystemExit, match=r"^130$"):
        entrypoint.main(["jpweb", "mirror"])


def test_command_for_other_processes_runs_this_package(tmp_path: Path):
    result = subprocess.run(
        [*installation.build_command("--version")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": installation.build_import_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.startswith("jpweb ")
