"""Tools that are subprocesses, by JP's protocol.

A command is a program and its arguments, each a template. What a tool is told stands in a context,
the same JSON as JP's::

    {"tool": {"name", "arguments", "answers", "options"},
     "context": {"action", "root", "access", "workspace_id", "conversation_id"}}

JP hands it over in the arguments alone, where every user of the machine can read it. Here **answers
to secret questions never stand there**, nor in the environment: ``tool.answers`` of the templates
leaves them out. The complete context, all answers included, is in a file that only the tool's user
can read and whose path is in ``JPWEB_CONTEXT``; the file is gone when the process is::

    jq -r .tool.answers.passphrase "$JPWEB_CONTEXT"

Standard input is empty: programs such as ripgrep change their ways when they find a pipe there.
"""

from __future__ import annotations

from jpweb.agent.tools.local.private import sweep
from jpweb.agent.tools.local.process import Limits
from jpweb.agent.tools.local.tool import LocalTool, Place, environment, shown

__all__ = ["Limits", "LocalTool", "Place", "environment", "shown", "sweep"]
