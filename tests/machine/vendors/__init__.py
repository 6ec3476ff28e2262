"""Stand-ins for vendors of models: real HTTP on loopback in their wire formats, replies by script.

``with vendor("anthropic", [Reply(Say("Hello"))]) as standin:`` gives ``standin.base_url`` and, in
``standin.requests``, what was asked.
"""

from __future__ import annotations

from tests.machine.vendors.replies import Call, Failure, Reply, Say, Script, Think
from tests.machine.vendors.server import Request, Standin, run_vendor

__all__ = [
    "Call",
    "Failure",
    "Reply",
    "Request",
    "Say",
    "Script",
    "Standin",
    "Think",
    "run_vendor",
]
