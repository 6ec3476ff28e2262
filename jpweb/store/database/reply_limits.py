"""How long a task or thread waits for each reply of the database server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Seconds that the current task waits for one reply; None: its connection's limit, 0: no limit.
_reply_seconds: ContextVar[float | None] = ContextVar("reply_seconds", default=None)


@contextmanager
def limit_replies(seconds: float) -> Iterator[None]:
    """Limit the wait for each reply to so many seconds, in this task or thread."""
    token = _reply_seconds.set(seconds)
    try:
        yield
    finally:
        _reply_seconds.reset(token)


def get_reply_seconds(connection_seconds: float) -> float:
    """Return the limit of the current task, else that of its connection; 0: no limit."""
    task_seconds = _reply_seconds.get()
    return connection_seconds if task_seconds is None else task_seconds
