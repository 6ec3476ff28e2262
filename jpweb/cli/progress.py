"""Progress bars of long commands, for people at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(title: str) -> Iterator[Callable[..., None]]:
    """Show a bar on standard error while the block runs; yield the function for done and total."""
    if not sys.stderr.isatty():
        yield _ignore_report
        return
    # Importing rich takes 0.1 s, which servers without a terminal save.
    from rich.console import Console  # noqa: PLC0415  see above
    from rich.progress import (  # noqa: PLC0415  see above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(title, total=None)

        def report(done_count: int, total: int, _folder: str = "") -> None:
            progress.update(task, completed=done_count, total=total)

        yield report


def _ignore_report(_done_count: int, _total_count: int, _folder: str = "") -> None:
    """Ignore progress without a terminal."""
