"""Records the data that an earlier jpweb leaves, and the pages that it shows of them.

    git worktree add ../earlier COMMIT
    python -m tests.installing.recording ../earlier tests/samples/upgrade/COMMIT

The earlier code serves a workspace of two of its demo's conversations, in which turns end in every
way; then the workspace's folder goes, so that nothing is read from files again. The same rows are
recorded from SQLite and PostgreSQL. Nothing of the machine is in them but the time.

Where pages say the same in other words from now on, write them again with the present code, and
read the difference before you commit it:

    python -m tests.installing.recording --pages tests/samples/upgrade/COMMIT
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.installing import dumps
from tests.installing.owner import Owner
from tests.installing.reading import read_pages, write_pages
from tests.machine import servers
from tests.machine.serving import Server

NAME = "Orchard"
#: Where the workspace seems to have been.
ROOT = "/srv/orchard"
_COPIED = ("*-a-tour-*", ".archive/*-old-and-odd-*")
_FORGET = f"""
from jpweb.store.models import Conversation, SignInLink, Workspace
from django.contrib.sessions.models import Session
Workspace.objects.filter(root="demo").delete()
Workspace.objects.exclude(root="demo").update(root="{ROOT}", name="{NAME}")
for each in (SignInLink, Session): each.objects.all().delete()
"""
#: Rows that Django makes by itself, and such as would let somebody in.
_EXCLUDED = ("contenttypes", "auth.permission", "sessions", "store.duty", "store.presence")


class EarlierServer(Server):
    """A server of an earlier checkout, or one of its commands."""

    checkout: Path

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", self.COMMAND]
        if self.workspace is not None:
            command += ["--workspace", str(self.workspace)]
        with self.log.open("ab") as log:
            environment = self._environment()
            return subprocess.Popen(
                command, cwd=self.checkout, env=environment, stdout=log, stderr=log
            )

    def call(self, *arguments: str) -> str:
        """Run a command; return what it printed."""
        result = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.checkout,
            env=self._environment(),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return result.stdout


def copy_workspace(checkout: Path, root: Path) -> None:
    """Make a workspace of two conversations of a checkout's demo."""
    demo = checkout / "jpweb" / "store" / "disk" / "demo" / ".jp"
    for pattern in _COPIED:
        (folder,) = (demo / "conversations").glob(pattern)
        shutil.copytree(folder, root / ".jp" / folder.relative_to(demo))
    (root / ".jp" / ".id").write_text("orchd\n")


def make_conversations(server: Server) -> None:
    """Have turns that end in every way; one waits for an answer."""
    owner = Owner(server, NAME.lower())
    invite(owner, "Ada", "responder")
    owner.finish(owner.begin("All answered"), "open sesame")
    declined = owner.begin("All declined")
    for kind in ("boolean", "select", "text", "secret"):
        owner.decline(declined, kind, "Not today" if kind == "text" else "")
    stopped_path = owner.begin("Stopped")
    owner.find_question(stopped_path, "boolean")
    owner.visitor.post(f"{stopped_path}/stop", stopped_path)
    waiting = owner.begin("Waiting")
    owner.answer(waiting, "boolean", "false")
    owner.find_question(waiting, "select")


def invite(owner: Owner, name: str, role: str) -> None:
    """Make somebody a member of the workspace."""
    match = re.search(rf'"(/workspaces/\d+/people)">[^<]*{owner.workspace}', owner.read("/"))
    assert match
    number = re.search(rf'<option value="(\d+)">{role}<', owner.read(match[1]), re.IGNORECASE)
    assert number
    owner.visitor.post(f"{match[1]}/invite", match[1], name=name, role=number[1])


def record(checkout: Path, target: Path, scratch: Path) -> None:
    """Write the dumps of both databases, and the pages, into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    copy_workspace(checkout, scratch / NAME.lower())
    # The name that an earlier jpweb reads, as a later one does.
    settings = {"JPWEB_SCRIPT_PACE": "0", "JP_USER_DATA_DIR": str(scratch / "jp")}
    server = EarlierServer(
        scratch / "data",
        workspace=scratch / NAME.lower(),
        settings=settings,
        copies_template=False,
    )
    server.checkout = checkout
    try:
        make_conversations(server.start())
        server.stop()
        server.call("shell", "-v0", "-c", _FORGET)
        server.call("index")
        (target / "sqlite.sql").write_text(dumps.dump_sqlite(server.data / "jpweb.sqlite3"))
        record_postgresql(server, target, scratch)
        server.workspace = None
        server.start()
        write_pages(target / "pages.txt", read_pages(Owner(server)))
    finally:
        server.close()


def record_postgresql(server: EarlierServer, target: Path, scratch: Path) -> None:
    """Write the dump of a PostgreSQL database with the same rows."""
    rows = scratch / "rows.xml"  # JSON keeps milliseconds alone
    excluded = [f"--exclude={name}" for name in _EXCLUDED]
    server.call("dumpdata", "--format", "xml", "--output", str(rows), *excluded)
    with servers.run_postgres() as cluster:
        server.settings["DATABASE_URL"] = url = cluster()
        server.call("migrate", "-v0")
        server.call("loaddata", "-v0", str(rows))
        server.call("index", "--all")
        (target / "postgresql.sql").write_text(dumps.dump_postgresql(url))
        del server.settings["DATABASE_URL"]


def record_pages(target: Path, scratch: Path) -> None:
    """Write the pages of recorded data again, as the present code shows them."""
    server = Server(scratch / "data", settings={"JPWEB_SCRIPT_PACE_SECONDS": "0"})
    server.data.mkdir()
    dumps.load_sqlite((target / "sqlite.sql").read_text(), server.data / "jpweb.sqlite3")
    try:
        write_pages(target / "pages.txt", read_pages(Owner(server.start())))
    finally:
        server.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="jpweb-recording-") as folder:
        first, second = sys.argv[1:]
        if first == "--pages":
            record_pages(Path(second).resolve(), Path(folder))
        else:
            record(Path(first).resolve(), Path(second).resolve(), Path(folder))
