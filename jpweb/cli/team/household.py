"""Starts everything that a team's jpweb consists of, in order, and ends it in order."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT

import psycopg

from jpweb.cli.server import HOST
from jpweb.cli.team import servers
from jpweb.cli.team.balancer import Balancer
from jpweb.cli.team.children import Child, kept, until
from jpweb.cli.team.ports import find_free_port
from jpweb.cli.team.programs import POSTGRES, REDIS, found
from jpweb.installation import build_command, build_import_path

DATABASE = "jpweb"
WEBS, WORKERS = 2, 2
#: Seconds that the servers, and then jpweb's own processes, get until they are ready.
SERVERS_READY, WEB_READY = 60.0, 180.0


class Unusable(Exception):
    """Something cannot be used as it is; the text is one line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is started: data folder, the port people use, a workspace; and who hears of it."""

    data: Path
    port: int
    workspace: Path | None
    say: Callable[[str, str], None]


class Household:
    """Everything of one data folder. ``up`` has it running."""

    def __init__(self, wanted: Wanted) -> None:
        """Raise Missing where a program that it runs is not on this machine."""
        initdb, self._redis = found(POSTGRES, REDIS)
        self._programs = initdb.resolve().parent
        self._account = servers.account()
        self._wanted = wanted

    @asynccontextmanager
    async def up(self) -> AsyncIterator[str]:
        """Start everything, and give a sign-in link; all ends with the block.

        Raises Unusable, NotReady.
        """
        async with AsyncExitStack() as stack:
            sockets = stack.enter_context(_sockets(self._wanted.data / "team" / "sockets"))
            await stack.enter_async_context(self._postgres(sockets))
            await stack.enter_async_context(self._signals(sockets))
            ports = [find_free_port(HOST) for _ in range(WEBS)]
            await stack.enter_async_context(self._jpweb(sockets, ports))
            balancer = Balancer(HOST, ports)
            await stack.enter_async_context(balancer.listening(self._wanted.port))
            yield await self._link(_settings(sockets))

    @asynccontextmanager
    async def _postgres(self, sockets: Path) -> AsyncIterator[None]:
        wanted = self._wanted.data / "team" / "postgres"
        data = servers.cluster_folder(wanted)
        home = sockets / "postgres"
        home.mkdir(mode=0o700)
        servers.hand_over(home)
        if not (data / "PG_VERSION").exists():
            await self._run(servers.initdb(self._programs, data), "PostgreSQL's initdb", home)
        argv = servers.postgres(self._programs, data, home)
        child = Child("postgres", argv, self._hear("postgres"), home, None, self._account, SIGINT)
        async with kept([child], self._hear("team")):
            await until(lambda: _database(home), "PostgreSQL", SERVERS_READY)
            yield

    @asynccontextmanager
    async def _signals(self, sockets: Path) -> AsyncIterator[None]:
        at = sockets / "redis" / "socket"
        at.parent.mkdir(mode=0o700)
        argv = servers.redis(
            self._redis, "--port", "0", "--unixsocket", str(at), "--loglevel", "warning"
        )
        child = Child("redis", argv, self._hear("redis"), at.parent)
        async with kept([child], self._hear("team")):
            await until(lambda: _answers(at), "Redis", SERVERS_READY)
            yield

    @asynccontextmanager
    async def _jpweb(self, sockets: Path, ports: list[int]) -> AsyncIterator[None]:
        settings = _settings(sockets)
        webs = []
        for number, port in enumerate(ports, 1):
            more = []
            if self._wanted.workspace is not None:
                more = ["--workspace", str(self._wanted.workspace)]
            webs.append(self._child(f"web{number}", settings, port, "serve", *more))
        workers = [
            self._child(f"worker{number}", settings, self._wanted.port, "work")
            for number in range(1, WORKERS + 1)
        ]
        async with kept([*webs, *workers], self._hear("team")):
            for port, web in zip(ports, webs, strict=True):
                await until(lambda port=port: _accepts(port), web.name, WEB_READY)  # type: ignore[misc]  # a default binds the loop's value
            yield

    def _child(self, name: str, settings: Mapping[str, str], port: int, *argv: str) -> Child:
        env = {**settings, "JPWEB_PORT": str(port)}
        return Child(name, build_command(*argv), self._hear(name), Path.cwd(), env)

    def _hear(self, name: str) -> Callable[[str], None]:
        return lambda line: self._wanted.say(name, line)

    async def _link(self, settings: Mapping[str, str]) -> str:
        env = {**settings, "JPWEB_PORT": str(self._wanted.port)}
        argv = build_command("sign_in_link")
        return (await _output(argv, "sign_in_link", env=env)).strip()

    async def _run(self, argv: list[str], name: str, folder: Path) -> None:
        await _output(argv, name, cwd=folder, **self._account)


@contextmanager
def _sockets(shown: Path) -> Iterator[Path]:
    """Yield a folder for sockets, to which ``shown`` leads; a socket's name has to be short."""
    with tempfile.TemporaryDirectory(prefix="jpweb-team-") as made:
        folder = Path(made)
        folder.chmod(0o711)  # PostgreSQL's account goes through; what is inside is closed
        shown.unlink(missing_ok=True)
        shown.symlink_to(folder)
        yield folder
    shown.unlink(missing_ok=True)


def _settings(sockets: Path) -> dict[str, str]:
    """Return the environment of jpweb's processes; ours, but for what makes them a team."""
    return {
        **os.environ,
        "DATABASE_URL": f"postgres://{servers.ACCOUNT}@/{DATABASE}?host={sockets}/postgres",
        "REDIS_URL": f"unix://{sockets}/redis/socket",
        "JPWEB_RUNS": "workers",
        "PYTHONPATH": build_import_path(),
        "PYTHONUNBUFFERED": "1",
    }


async def _output(argv: list[str], name: str, **more: object) -> str:
    """Run a program to its end; return what it printed. Raises Unusable with its last line."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdout=pipe, stderr=pipe, **more)  # type: ignore[arg-type]  # passed on
    printed, complaint = await process.communicate()
    if process.returncode:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise Unusable(f"{name} ended with code {process.returncode}: {last}")
    return printed.decode()


async def _database(home: Path) -> bool:
    """Tell whether the cluster at a socket answers, and has our database from now on."""
    try:
        connection = await psycopg.AsyncConnection.connect(
            host=str(home), user=servers.ACCOUNT, dbname="postgres", autocommit=True
        )
    except psycopg.OperationalError:
        return False
    async with connection:
        there = await connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE])
        if await there.fetchone() is None:
            await connection.execute(f"CREATE DATABASE {DATABASE}")
    return True


async def _answers(at: Path) -> bool:
    with suppress(OSError):
        reader, writer = await asyncio.open_unix_connection(at)
        writer.write(b"PING\r\n")
        answer = await reader.readline()
        writer.close()
        return answer == b"+PONG\r\n"
    return False


async def _accepts(port: int) -> bool:
    with suppress(OSError):
        _, writer = await asyncio.open_connection(HOST, port)
        writer.close()
        return True
    return False
