"""Starts the processes of a local cluster in order, and stops them in reverse."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGINT

import psycopg

from jpweb.cli.daphne_server import HOST, find_free_port
from jpweb.cli.local_cluster import postgres_redis
from jpweb.cli.local_cluster.binaries import POSTGRES, REDIS, find_programs
from jpweb.cli.local_cluster.child_process import ChildProcess, run_supervised, wait_until_ready
from jpweb.installation import build_command, build_import_path

DATABASE_NAME = "jpweb"
WEB_SERVER_COUNT, WORKER_COUNT = 2, 2
#: Seconds until PostgreSQL and Redis, and then jpweb's processes, have to be ready.
SERVERS_TIMEOUT_SECONDS, WEB_TIMEOUT_SECONDS = 60.0, 180.0
#: Seconds after which an attempt to connect to PostgreSQL counts as failed.
CONNECT_TIMEOUT_SECONDS = 5
#: Lines of a failed program that are printed: the last of initdb's says only that it cleans up.
SHOWN_ERROR_LINES = 5


class SetupError(Exception):
    """A program failed; the text names it, and has the end of its errors."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of a local cluster: data folder, the first web server's port, workspace.

    ``on_line`` receives a process's name and a line of its output.
    """

    data_dir: Path
    port: int
    workspace: Path | None
    on_line: Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class ClusterAddresses:
    """A sign-in link of the first web server, and the addresses of all."""

    sign_in_link: str
    web_urls: list[str]


class LocalCluster:
    """The local cluster of one data folder; ``start_all`` runs it."""

    def __init__(self, options: ClusterOptions) -> None:
        """Raise MissingProgram where a program that it runs is not installed."""
        initdb, self._redis_path = find_programs(POSTGRES, REDIS)
        self._postgres_bin = initdb.resolve().parent
        self._account_options = postgres_redis.get_account_options()
        self._options = options

    @asynccontextmanager
    async def start_all(self) -> AsyncIterator[ClusterAddresses]:
        """Start everything and yield its addresses; all is stopped with the block.

        Raises PortTaken, SetupError, NotReady.
        """
        async with AsyncExitStack() as stack:
            sockets = stack.enter_context(
                _make_socket_dir(self._options.data_dir / "team" / "sockets")
            )
            await stack.enter_async_context(self._start_postgres(sockets))
            await stack.enter_async_context(self._start_redis(sockets))
            ports = [self._options.port]
            while len(ports) < WEB_SERVER_COUNT:
                ports.append(find_free_port(ports[-1] + 1))
            await stack.enter_async_context(self._start_jpweb(sockets, ports))
            link = await self._make_sign_in_link(
                _build_environment(sockets, self._options.data_dir)
            )
            yield ClusterAddresses(link, [f"http://{HOST}:{port}" for port in ports])

    @asynccontextmanager
    async def _start_postgres(self, sockets: Path) -> AsyncIterator[None]:
        cluster_path = self._options.data_dir / "team" / "postgres"
        data = postgres_redis.prepare_cluster_folder(cluster_path)
        socket_dir = sockets / "postgres"
        socket_dir.mkdir(mode=0o700)
        postgres_redis.give_to_account(socket_dir)
        if not (data / "PG_VERSION").exists():
            await self._run_program(
                postgres_redis.build_initdb_command(self._postgres_bin, data),
                "PostgreSQL's initdb",
                socket_dir,
            )
        argv = postgres_redis.build_postgres_command(self._postgres_bin, data, socket_dir)
        child = ChildProcess(
            "postgres",
            argv,
            self._make_line_handler("postgres"),
            socket_dir,
            None,
            self._account_options,
            SIGINT,
        )
        async with run_supervised([child], self._make_line_handler("team")):
            await wait_until_ready(
                lambda: _ensure_database(socket_dir), "PostgreSQL", SERVERS_TIMEOUT_SECONDS
            )
            yield

    @asynccontextmanager
    async def _start_redis(self, sockets: Path) -> AsyncIterator[None]:
        socket_path = sockets / "redis" / "socket"
        socket_path.parent.mkdir(mode=0o700)
        argv = postgres_redis.build_redis_command(
            self._redis_path,
            "--port",
            "0",
            "--unixsocket",
            str(socket_path),
            "--loglevel",
            "warning",
        )
        child = ChildProcess("redis", argv, self._make_line_handler("redis"), socket_path.parent)
        async with run_supervised([child], self._make_line_handler("team")):
            await wait_until_ready(
                lambda: _is_redis_ready(socket_path), "Redis", SERVERS_TIMEOUT_SECONDS
            )
            yield

    @asynccontextmanager
    async def _start_jpweb(self, sockets: Path, ports: list[int]) -> AsyncIterator[None]:
        settings = _build_environment(sockets, self._options.data_dir)
        web_servers = []
        for number, port in enumerate(ports, 1):
            workspace_arguments = []
            if self._options.workspace is not None:
                workspace_arguments = ["--workspace", str(self._options.workspace)]
            web_servers.append(
                self._make_child(f"web{number}", settings, port, "serve", *workspace_arguments)
            )
        workers = [
            self._make_child(f"worker{number}", settings, self._options.port, "work")
            for number in range(1, WORKER_COUNT + 1)
        ]
        async with run_supervised([*web_servers, *workers], self._make_line_handler("team")):
            for port, web_server in zip(ports, web_servers, strict=True):
                await wait_until_ready(
                    partial(_is_accepting, port), web_server.name, WEB_TIMEOUT_SECONDS
                )
            yield

    def _make_child(
        self, name: str, settings: Mapping[str, str], port: int, *argv: str
    ) -> ChildProcess:
        env = {**settings, "JPWEB_PORT": str(port)}
        return ChildProcess(
            name, build_command(*argv), self._make_line_handler(name), Path.cwd(), env
        )

    def _make_line_handler(self, name: str) -> Callable[[str], None]:
        return lambda line: self._options.on_line(name, line)

    async def _make_sign_in_link(self, settings: Mapping[str, str]) -> str:
        env = {**settings, "JPWEB_PORT": str(self._options.port)}
        argv = build_command("sign_in_link")
        return (await _run_for_output(argv, "sign_in_link", env=env)).strip()

    async def _run_program(self, argv: list[str], name: str, folder: Path) -> None:
        await _run_for_output(argv, name, cwd=folder, **self._account_options)


@contextmanager
def _make_socket_dir(link_path: Path) -> Iterator[Path]:
    """Yield a short folder for sockets, to which ``link_path`` leads.

    The path of a UNIX socket is limited to about 100 characters.
    """
    with tempfile.TemporaryDirectory(prefix="jpweb-team-") as temp_dir:
        folder = Path(temp_dir)
        folder.chmod(0o711)  # PostgreSQL's account traverses it; the folders inside are 0700
        link_path.unlink(missing_ok=True)
        link_path.symlink_to(folder)
        yield folder
    link_path.unlink(missing_ok=True)


def _build_environment(sockets: Path, data_dir: Path) -> dict[str, str]:
    """Return the environment of the cluster's processes: ours, with its database and Redis.

    Its ledger's heads go into a file of its own, and to no address: among those of the
    installation, whose data folder it shares, they would look like a forged ledger.
    """
    return {
        **os.environ,
        "DATABASE_URL": f"postgres://{postgres_redis.POSTGRES_ACCOUNT}@/{DATABASE_NAME}?host={sockets}/postgres",
        "REDIS_URL": f"unix://{sockets}/redis/socket",
        "JPWEB_RUNS": "workers",
        "JPWEB_LEDGER_HEADS": str(data_dir / "team" / "ledger-heads.jsonl"),
        "JPWEB_LEDGER_HEAD_URL": "",
        "PYTHONPATH": build_import_path(),
        "PYTHONUNBUFFERED": "1",
    }


async def _run_for_output(argv: list[str], name: str, **options: object) -> str:
    """Run a program and return its output. Raises SetupError with the end of its errors."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdout=pipe, stderr=pipe, **options)  # type: ignore[arg-type]  # passed on
    output, error_text = await process.communicate()
    if process.returncode:
        last_lines = error_text.decode(errors="replace").strip().splitlines()[-SHOWN_ERROR_LINES:]
        raise SetupError(
            "\n  ".join([f"{name} ended with code {process.returncode}:", *last_lines])
        )
    return output.decode()


async def _ensure_database(socket_dir: Path) -> bool:
    """Return whether PostgreSQL answers at a socket; creates the database where it is missing."""
    try:
        connection = await psycopg.AsyncConnection.connect(
            host=str(socket_dir),
            user=postgres_redis.POSTGRES_ACCOUNT,
            dbname="postgres",
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
        )
    except psycopg.OperationalError:
        return False
    async with connection:
        cursor = await connection.execute(
            "SELECT FROM pg_database WHERE datname = %s", [DATABASE_NAME]
        )
        if await cursor.fetchone() is None:
            await connection.execute(f"CREATE DATABASE {DATABASE_NAME}")
    return True


async def _is_redis_ready(socket_path: Path) -> bool:
    with suppress(OSError):
        reader, writer = await asyncio.open_unix_connection(socket_path)
        writer.write(b"PING\r\n")
        answer = await reader.readline()
        writer.close()
        return answer == b"+PONG\r\n"
    return False


async def _is_accepting(port: int) -> bool:
    with suppress(OSError):
        _, writer = await asyncio.open_connection(HOST, port)
        writer.close()
        return True
    return False
