"""Every place that opens a connection to PostgreSQL, and what limits its waits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import list_modules, read_text, walk_nodes

#: Calls that open a connection, a pool of them, or copy one that is opened later.
OPENERS = re.compile(
    r"(connection|wrapper)\.copy$|(^|\.)(psycopg|\w*Connection)\.connect$|ConnectionPool$|"
    r"PsycopgConnector$|^create_connection$"
)
#: What is in the text of a module with such a call: parsing each and its calls takes 2.5 s.
OPENING = re.compile(
    r"\.copy\b|\.connect\b|ConnectionPool\b|PsycopgConnector\b|\bcreate_connection\b"
)
#: The place of each, and what its function has to name as its limit.
LIMITS = {
    # Requests, turns and commands.
    "jpweb/settings.py": {"make_connection_options", "make_pool_options"},
    # The renewal of leases.
    "jpweb/store/database/timeouts.py use_own_connection": {"make_timeout_connection"},
    # Workers that wait for jobs, with the options of the settings beside.
    "jpweb/store/run_queue/job_engine.py open_engine": {
        "connector_params", "make_async_timeout_connection",
    },
    # One connection by which a command sees whether there is a database: the settings' options.
    "jpweb/store/bootstrap.py _require_connection": {"connection.copy", "'pool': None"},
    # A lock that waits for other starts, and the snapshot of a backup: without a limit on purpose.
    "jpweb/store/bootstrap.py hold_prepare_lock": {"make_unlimited_options"},
    "jpweb/store/backups/snapshot.py _open_snapshot": {"make_unlimited_options"},
    # The cluster that `jpweb team` starts itself, on a socket of this machine.
    "jpweb/cli/local_cluster/cluster.py _ensure_database": {"connect_timeout"},
}  # fmt: skip


def list_openers(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each function that opens a connection, with its source."""
    for node in walk_nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _opens(node):
            yield f"{path} {node.name}", ast.unparse(node)


def _opens(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(OPENERS.search(ast.unparse(call.func)) for call in calls)


def test_connections_have_limits_wherever_they_are_opened():
    sources = {
        place: source
        for path in list_modules("jpweb")
        if OPENING.search(read_text(path))
        for place, source in list_openers(path)
    }
    settings = Path("jpweb/settings.py")
    sources[str(settings)] = read_text(settings)
    assert set(sources) == set(LIMITS)
    for place, limits in LIMITS.items():
        assert [name for name in limits if name not in sources[place]] == [], place
