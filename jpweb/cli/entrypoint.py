"""The command ``jpweb``; ``manage.py`` runs it as well."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import metadata
from io import TextIOWrapper
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line, find_commands, get_commands

from jpweb.cli import gc_tuning, standard_output

#: One help line for each command of jpweb, in the help's order.
COMMANDS = {
    "serve": "start jpweb and print a sign-in link; --workspace PATH adds a JP workspace",
    "sign_in_link": "print a new one-time sign-in link",
    "sign_out": "end all sign-ins of a person",
    "deactivate_person": "shut out a person who left; what they did stays",
    "reactivate_person": "restore the account of a deactivated person",
    "mirror": "copy a JP workspace's conversations; --watch keeps them up to date",
    "export": "write a conversation to a file",
    "check_stream": "check a conversation's file and count its events",
    "index": "bring the search index up to date",
    "backup": "write a backup file, also while jpweb is running",
    "restore": "restore a backup file into an empty database",
    "verify_ledger": "verify the ledger, and the events it refers to",
    "ledger_head": "print the signed head of the ledger, to keep it elsewhere",
    "verify_evidence": "verify an evidence bundle",
    "import_evidence": "import the conversations of an evidence bundle, read-only",
    "purge_ledger": "clear old ledger entries of who read, searched and signed in",
    "erase_remains": "rewrite the database's files without what was redacted or deleted",
    "team": "try a team's setup: PostgreSQL, Redis, two web servers, two workers",
    "work": "run a worker that executes turns (needs JPWEB_RUNS=workers)",
}


#: Exit codes of a program that a signal ends, as shells report them.
_BROKEN_PIPE_EXIT_CODE = 128 + signal.SIGPIPE
_INTERRUPTED_EXIT_CODE = 128 + signal.SIGINT


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command of jpweb or Django; exit with one line where that is impossible."""
    gc_tuning.collect_rarely()
    if isinstance(sys.stdout, TextIOWrapper):
        # As standard error: what a terminal cannot show is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _run_command(list(sys.argv if argv is None else argv))
        standard_output.flush_output()
    except ImproperlyConfigured as error:
        sys.exit(f"jpweb: {error}")
    except KeyboardInterrupt:  # Ctrl-C in what a command does before it handles the signal
        sys.exit(_INTERRUPTED_EXIT_CODE)
    except BrokenPipeError:  # such as of ``jpweb export … | head``
        standard_output.discard_output()
        sys.exit(_BROKEN_PIPE_EXIT_CODE)
    except standard_output.OutputError as error:
        standard_output.discard_output()
        sys.exit(f"jpweb: {error}")


def _run_command(arguments: list[str]) -> None:
    # With ``python -m jpweb`` argv[0] is the path of ``__main__.py``.
    program = "jpweb" if Path(arguments[0]).name == "__main__.py" else Path(arguments[0]).name
    name = arguments[1] if len(arguments) > 1 else "help"
    if arguments[1:] in ([], ["help"], ["--help"], ["-h"]):  # "help serve" is Django's
        standard_output.write_text(f"{_build_help(program)}\n")
        return
    if name in ("version", "--version"):
        standard_output.write_text(f"jpweb {metadata.version('jpweb')}\n")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
    if name == "team":
        # It gives its processes JPWEB_RUNS, and the PostgreSQL and Redis that the settings demand.
        os.environ.pop("JPWEB_RUNS", None)
    _check_command(program, name)
    execute_from_command_line([program, *arguments[1:]])


def _check_command(program: str, name: str) -> None:
    """Exit where there is no such command; jpweb's own are known without settings."""
    if name == "runserver":  # neither WebSockets nor turns: only `serve` starts what jpweb needs
        sys.exit(f"{program}: Django's development server cannot run jpweb. Use “{program} serve”.")
    if name == "help" or name in COMMANDS or name in find_commands(_DJANGO_COMMANDS):
        return
    django.setup()
    if name not in get_commands():
        close_matches = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"Did you mean “{close_matches[0]}”? " if close_matches else ""
        sys.exit(f"{program}: unknown command “{name}”. {hint}“{program} help” lists all commands.")


_DJANGO_COMMANDS = str(Path(django.__file__).parent / "core" / "management")


def _build_help(program: str) -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()]
    return "\n".join(
        [
            f"usage: {program} COMMAND [...]",
            "",
            *lines,
            "",
            f"“{program} COMMAND --help” lists options. Django's commands (migrate, …) work too.",
        ]
    )
