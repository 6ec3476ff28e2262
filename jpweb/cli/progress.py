"""Progress of what takes a while, for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def bar(title: str) -> Iterator[Callable[..., None]]:
    """Show a bar on standard error while the block runs; gives what to report to: done, total."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(title, total=None)

        def report(done: int, total: int, _folder: str = "") -> None:
            progress.update(task, completed=done, total=total)

        yield report
