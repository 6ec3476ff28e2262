"""Notes every file that a server's Python opens for writing, those without a name included.

A temporary file of Linux has no name (``O_TMPFILE``), so nobody sees it in its folder. The
interpreter says each opening to its audit hooks (PEP 578), before it happens.
"""

from __future__ import annotations

from pathlib import Path

_HOOK = """
import os, sys

_NOTES = os.open({notes!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_WRITES = os.O_WRONLY | os.O_RDWR

def _note(event, details):
    if event == "open" and isinstance(details[2], int) and details[2] & _WRITES:
        os.write(_NOTES, (os.fsdecode(details[0]) + "\\n").encode() if not isinstance(
            details[0], int) else b"")
    elif event.startswith("tempfile."):
        os.write(_NOTES, (event + " " + str(details[0]) + "\\n").encode())

sys.addaudithook(_note)
"""
#: A periodic task opens it, in a pause of the calls that serve people: at any moment of a test.
_PERIODIC_NAME = "ledger-heads.jsonl"


class Opened:
    """The notes of one server; ``settings`` are those that it has to be started with."""

    def __init__(self, folder: Path) -> None:
        self._notes = folder / "opened.txt"
        self._read = 0
        hook, temporary = folder / "hook", folder / "temporary"
        hook.mkdir()
        temporary.mkdir()
        (hook / "sitecustomize.py").write_text(_HOOK.format(notes=str(self._notes)))
        self.settings = {"PYTHONPATH": str(hook), "TMPDIR": str(temporary)}

    def take(self) -> list[str]:
        """Return what requests opened for writing since the last call, or since the start."""
        text = self._notes.read_text()
        since, self._read = text[self._read :], len(text)
        return [line for line in since.splitlines() if not line.endswith(f"/{_PERIODIC_NAME}")]
