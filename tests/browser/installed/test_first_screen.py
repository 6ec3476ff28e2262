"""README's first screen with the installed command: a wheel, a HOME of its own, no checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.pages import (
    BOOLEAN,
    DOWN,
    SELECT,
    Home,
    Visit,
    answer_question,
    find_card,
    find_inquiries,
)
from tests.installing.package import build_package, install_wheel
from tests.machine.browsing import Pages
from tests.machine.local_cluster import Team
from tests.machine.ports import free_port, wait_until
from tests.machine.serving import Server
from tests.machine.templates import inherit_environment

pytestmark = pytest.mark.browser
TOUR = "A tour of questions and answers"


@pytest.fixture(scope="module")
def jpweb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel; return its command."""
    folder = tmp_path_factory.mktemp("installed")
    return install_wheel(build_package("wheel", folder), folder / "environment")


@dataclass
class InstalledJpweb:
    """Where a person works: a HOME, and a folder in which nothing of jpweb is."""

    home: Path
    jpweb: Path

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "jpweb"

    def environment(self) -> dict[str, str]:
        environment = inherit_environment() | {"HOME": str(self.home), "PYTHONUNBUFFERED": "1"}
        del environment["PYTHONPATH"], environment["XDG_DATA_HOME"]
        return environment

    def run(self, *arguments: str) -> str:
        """Run a command of jpweb in this folder; return what it printed."""
        result = subprocess.run(
            [str(self.jpweb), *arguments],
            cwd=self.home,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    def spawn(self, port: int, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                [str(self.jpweb), *arguments],
                cwd=self.home,
                env=self.environment() | {"JPWEB_PORT": str(port)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )


@pytest.fixture
def desk(tmp_path: Path, jpweb: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledJpweb:
    for name in ("PYTHONPATH", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, "")  # so that there is one to delete
    home = tmp_path / "home"
    home.mkdir()
    return InstalledJpweb(home, jpweb)


class InstalledServer(Server):
    """``jpweb serve``, in the folder of a person."""

    desk: InstalledJpweb

    def _spawn(self) -> subprocess.Popen[bytes]:
        return self.desk.spawn(self.port, self.log, "serve")


class InstalledTeam(Team):
    """``jpweb team``, in the folder of a person."""

    desk: InstalledJpweb

    def _spawn(self) -> subprocess.Popen[bytes]:
        return self.desk.spawn(self.port, self.log, "team")


@pytest.fixture
def server(desk: InstalledJpweb) -> Iterator[Server]:
    desk.data.parent.mkdir(parents=True)
    server = InstalledServer(desk.data, free_port(), copies_template=False)
    server.desk = desk
    try:
        yield server.start()
    finally:
        server.close()


@pytest.mark.proof  # 12 s of processor time; what is in the wheel is tested in tests/architecture
def test_installed_command_serves_the_first_screen(server: Server, open_page: Pages):
    page = open_page(server.link)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    page.get_by_role("link", name=TOUR).first.click()
    expect(page.get_by_role("heading", name=TOUR)).to_be_visible()
    page.goto(f"{server.url}/conversations/new")
    page.get_by_label("First message").fill("Show me")
    page.get_by_role("button", name="Start").click()
    find_card(page, BOOLEAN)
    answer_question(page, BOOLEAN, "Yes")
    expect(find_inquiries(page).first).to_have_attribute("data-outcome", "answered")
    page.goto(f"{server.url}/help/using")
    expect(page.get_by_role("heading", name="Using jpweb")).to_be_visible()
    picture = page.locator(".help img")
    wait_until(lambda: picture.evaluate("image => image.naturalWidth") > 0, "the picture is there")
    assert (server.data / "jpweb.sqlite3").exists()
    assert " ERROR " not in server.log_text(), server.log_text()[-4000:]


@pytest.mark.proof  # the first screen has no checkout either
def test_installed_command_runs_from_its_environment_alone(desk: InstalledJpweb, jpweb: Path):
    assert desk.run().startswith("usage: jpweb COMMAND")
    print_package = "import jpweb; print(jpweb.__file__)"
    place = desk.run("shell", "-v0", "-c", print_package).strip()
    assert Path(place).is_relative_to(jpweb.parent.parent)
    assert [path.name for path in desk.data.iterdir()] == ["secret-key"]


@pytest.mark.proof  # a team takes half a minute to start
def test_installed_command_runs_a_team(desk: InstalledJpweb, open_page: Pages):
    desk.data.parent.mkdir(parents=True)
    team = InstalledTeam(desk.data, free_port(), copies_template=False)
    team.desk = desk
    try:
        visit = Visit(Home(team.start()), open_page)
        page = visit.begin("Team")
        answer_question(page, BOOLEAN, "Yes")
        find_card(page, SELECT)  # an answer that is lost with the server is a complaint
        open_page.forgive(DOWN)
    finally:
        team.forget()
