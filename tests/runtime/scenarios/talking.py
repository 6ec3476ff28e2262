"""What the models of the scenarios reply, and what each vendor's wire says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.machine.vendors import Call, Reply, Say, Think

SIGNED, CALLED = "U0lHTkVE", "Q0FMTEVE"
GREET = Call("greet", {}, "call_1", CALLED)
DEPLOY = Call("deploy", {"service": "blog"}, "call_2")
#: Reasoning, text and two calls at once, with all that a vendor may want back.
BOTH = Reply(
    Think("Two things to do.", SIGNED),
    Say("I do both.", SIGNED, phase="commentary"),
    GREET,
    DEPLOY,
)
DONE = Reply(Say("All done."))


def reply_with_answer(answer: Any) -> Any:
    """Return the reply to a request for structured data, in the form that it asks for."""

    def reply(body: Mapping[str, Any]) -> Reply:
        if "reply" in list_offered_tools(body):
            return Reply(Call("reply", {"answer": answer}, "call_9"))
        return Reply(Say(f'{{"answer": {str(answer).lower()}}}'))

    return reply


def list_offered_tools(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools in a request."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        if "functionDeclarations" in tool:  # Google
            names += [declaration["name"] for declaration in tool["functionDeclarations"]]
        else:
            names.append(tool.get("function", tool)["name"])
    return names
