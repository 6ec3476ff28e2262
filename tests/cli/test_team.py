"""Everything at once, as ``make run-team`` starts it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.machine.local_cluster import NAMES, Team, run_team
from tests.machine.ports import LOOPBACK, free_port, wait_until
from tests.machine.serving import is_serving
from tests.machine.templates import ROOT, inherit_environment
from tests.machine.visiting import Visitor

_LINK = re.compile(r"https?://\S+/sign-in#\S+")


@pytest.fixture(scope="module")
def started_team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Team, str]]:
    """Yield a team and all that its first start prints."""
    last_line = "Press Ctrl-C to stop everything"
    with run_team(tmp_path_factory.mktemp("team") / "data") as team_server:
        wait_until(lambda: last_line in team_server.log_text(), "all is printed")
        yield team_server, team_server.log_text()


@pytest.fixture(scope="module")
def running_team(started_team: tuple[Team, str]) -> Team:
    return started_team[0]


@pytest.fixture(scope="module")
def visitor(running_team: Team) -> Visitor:
    """Return somebody who has used the newest link up."""
    visitor = Visitor(running_team.url)
    assert "Demo" in visitor.sign_in(running_team.link).text
    return visitor


@pytest.mark.chaos  # they start a team as well
def test_team_prints_one_sign_in_link_for_both_servers(
    started_team: tuple[Team, str], visitor: Visitor
):
    running_team, first_log = started_team
    assert "Traceback" not in first_log
    (link,) = set(_LINK.findall(first_log))
    assert link.startswith(f"{running_team.url}/sign-in#")
    addresses = [f"http://{LOOPBACK}:{port}" for port in running_team.ports]
    assert f"on each web server: {' and '.join(addresses)}\n" in first_log
    assert addresses[0] == running_team.url
    for address in addresses:
        visiting = Visitor(address, visitor.cookies)
        assert visiting.get("/audit").url == f"{address}/audit"
        with visiting.socket() as line:
            line.send('{"inbox": true, "questions": []}')
            assert line.recv(timeout=20)


@pytest.mark.chaos
def test_team_log_prefixes_lines_with_the_process(running_team: Team):
    lines = [line for line in running_team.log_text().splitlines() if "CommandError" not in line]
    assert {line.partition("|")[0].strip() for line in lines} == {"team", *NAMES}


@pytest.mark.chaos
@pytest.mark.parametrize("name", ["worker1", "web2", "redis", "postgres"])
def test_team_restarts_a_killed_process_and_logs_it(running_team: Team, name: str):
    before = running_team.process(name)
    assert running_team.strike(name)
    wait_until(lambda: running_team.process(name) != before, "it runs again", 30)
    assert re.search(rf"team +\| {name}: killed by signal 9\. Restarting", running_team.log_text())
    wait_until(lambda: all(map(is_serving, running_team.ports)), "others find both servers", 60)


@pytest.mark.chaos
def test_a_second_one_on_the_same_data_is_refused(running_team: Team):
    second = Team(running_team.data, free_port())
    code, output = second.run()
    assert code == 1
    (line,) = [text_line for text_line in output.splitlines() if "CommandError" in text_line]
    assert str(running_team.data) in line


@pytest.mark.chaos
def test_team_stops_in_order_and_keeps_its_data_for_the_next_start(
    running_team: Team, visitor: Visitor
):
    home = visitor.get("/")
    assert home.status == HTTPStatus.OK, home.text
    pids = [running_team.process(name) for name in NAMES]
    before = len(running_team.log_text())
    code = running_team.stop(signal.SIGINT, seconds=60)
    log_text = "\n" + running_team.log_text()[before:]
    left_pids = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    running_team.start()  # others need it
    assert (code, left_pids) == (0, [])
    order = [log_text.rindex(f"\n{name} ") for name in ("web1", "redis", "postgres", "team")]
    assert order == sorted(order)
    assert "Traceback" not in log_text
    page = visitor.get("/")
    assert page.url == f"{running_team.url}/", "the sign-in is kept"
    assert page.text.count("/conversations/") == home.text.count("/conversations/")


@pytest.mark.proof  # 10 s of processor: it starts a team
def test_team_can_be_stopped_while_it_starts(tmp_path: Path):
    starting = Team(tmp_path / "data", free_port())
    try:
        starting.begin()
        wait_until(lambda: "redis " in starting.log_text(), "it has begun", 60)
        assert starting.stop(seconds=60) == 0
    finally:
        starting.forget()


@pytest.mark.proof  # the check is that of `serve`, in test_serve.py
def test_a_taken_port_is_one_line(tmp_path: Path):
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        code, output = Team(tmp_path / "data", port).run()
    assert code == 1
    assert len(output.splitlines()) == 1
    assert f"Port {port}" in output


@pytest.mark.proof  # what the machine lacks is found out once, before anything is started
def test_team_names_missing_programs_and_packages(tmp_path: Path):
    """Nothing is on the PATH, and no versioned folder has it either."""
    code = (
        "import sys, jpweb.cli.local_cluster.binaries as p\n"
        "p.find_program = lambda program: None\n"
        "from django.core.management import execute_from_command_line\n"
        "execute_from_command_line(['manage.py', 'team'])\n"
    )
    variables = {"JPWEB_DATA": str(tmp_path), "JPWEB_PORT": str(free_port())}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=inherit_environment() | variables | {"DJANGO_SETTINGS_MODULE": "jpweb.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == (
        "CommandError: PostgreSQL and Redis are missing: apt-get install postgresql redis-server\n"
    )


@pytest.mark.chaos
def test_team_sockets_and_keys_are_closed_to_other_users(running_team: Team):
    for name in ("postgres", "redis"):
        place = (running_team.data / "team" / "sockets" / name).stat()
        assert place.st_mode & 0o077 == 0
    assert "JPWEB_SECRET_KEY" not in running_team.log_text()
    assert (running_team.data / "secret-key").stat().st_uid == os.getuid()
