"""The workspace in which it happens, and how long and how much."""

from __future__ import annotations

import os
from pathlib import Path

from tests.machine.sizes import choose_size

SECONDS = float(os.environ.get("JPWEB_CHAOS_SECONDS") or choose_size(9, 75))
RUNS = int(os.environ.get("JPWEB_CHAOS_RUNS") or choose_size(24, 200))
#: Seconds between two deaths, at least and at most.
PAUSES = (choose_size(0.5, 1.0), choose_size(2.0, 5.0))
SEED = int(os.environ.get("JPWEB_CHAOS_SEED") or int.from_bytes(os.urandom(3)))

#: Two tools that leave a trace of each time they ran; one asks for permission before.
_CONFIGURATION = """
[conversation.tools."*"]
run = "unattended"

[conversation.tools.tally]
source = "local"
command = "sh tally.sh {{tool.arguments.word}}"

[conversation.tools.tally.parameters.word]
type = "string"
required = true

[conversation.tools.gated_tally]
source = "local"
command = "sh tally.sh {{tool.arguments.word}}"
run = "ask"

[conversation.tools.gated_tally.parameters.word]
type = "string"
required = true
"""
#: The tool that asks, and both.
GATED_TOOL = "gated_tally"
TALLY_TOOLS = ("tally", GATED_TOOL)
_TALLY = """echo "$1" >> tally
sleep 0.3
echo "counted $1"
"""


def make_workspace(folder: Path) -> Path:
    """Make the workspace."""
    (folder / ".jp" / "conversations").mkdir(parents=True)
    (folder / ".jp" / ".id").write_text("chaos")
    (folder / ".jp" / "config.toml").write_text(_CONFIGURATION)
    (folder / "tally.sh").write_text(_TALLY)
    (folder / "tally").touch()
    return folder


def read_tally(folder: Path) -> list[str]:
    """Return a word for each time one of the tools ran."""
    return (folder / "tally").read_text().split()


def make_turn_text(number: int) -> str:
    """Return what makes the script ask two questions and run both tools, all at once."""
    return "\n".join(
        (
            f"Turn {number}",
            f'/call ask_user {{"question": "What is {number} called?"}}',
            f'/call ask_user {{"question": "Is {number} it?", "answer_type": "boolean"}}',
            f'/call tally {{"word": "word-{number}"}}',
            f'/call gated_tally {{"word": "gated-{number}"}}',
        )
    )
