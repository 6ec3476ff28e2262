"""Tools that are subprocesses, by JP's protocol.

A command is a program and its arguments, each a template. A tool gets its input as a context,
the same JSON as JP's::

    {"tool": {"name", "arguments", "answers", "options"},
     "context": {"action", "root", "access", "workspace_id", "conversation_id"}}

JP hands it over in the arguments alone, where every user of the machine can read it. Here
**answers to secret questions never appear there**, nor in the environment: ``tool.answers`` of
the templates leaves them out, as it does answers that are too long for an argument. The complete
context, all answers included, is in a file that only the tool's user can read and whose path is in
``JPWEB_CONTEXT``; the file is deleted with the process::

    jq -r .tool.answers.passphrase "$JPWEB_CONTEXT"

Standard input is empty: programs such as ripgrep behave differently when it is a pipe.
"""

from __future__ import annotations

from jpweb.agent.tools.local.private_file import sweep_private_files
from jpweb.agent.tools.local.subprocess_runner import ProcessLimits
from jpweb.agent.tools.local.tool import LocalTool, ToolContext, format_arguments, make_environment

__all__ = [
    "LocalTool",
    "ProcessLimits",
    "ToolContext",
    "format_arguments",
    "make_environment",
    "sweep_private_files",
]
