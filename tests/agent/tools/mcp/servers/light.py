"""The tools of ``server.py`` that ask nothing, without the SDK, whose import takes a second.

``python light.py stdio`` answers the protocol of 2025-11-25; ``silent`` reads and says nothing,
``flood`` writes a line without end, ``pages`` lists tools on pages without end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

NUMBER = {"type": "integer"}
ADDENDS = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER | {"default": 2}}}
TOOLS = {"add": ADDENDS} | {
    name: {"type": "object"}
    for name in ("parts", "fail", "much", "settings", "wait", "end", "flood", "umask", "repeat")
}

#: The time to match it doubles with each character of a text that does not match.
SLOW_PATTERN = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def content(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    match name:
        case "add":
            return [text(str(arguments["a"] + arguments.get("b", 2)))]
        case "much":
            return [text("x" * arguments["size"])]
        case "settings":
            return [text(os.environ.get(arguments["name"], "unset"))]
        case "umask":
            return [text(f"{os.umask(0):04o}")]
        case "parts":
            picture = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
            resource = {"uri": "file:///a", "text": "from a file"}
            embedded = {"type": "resource", "resource": resource}
            return [text("one"), picture, embedded, text("two")]
        case _:
            return [text(arguments.get("why", name))]


def flood() -> None:
    while True:
        sys.stdout.write("x" * 65_536)


def repeat(message: dict[str, Any], count: int, *, cancels: bool = False) -> None:
    """Send a message many times, a request each time with another id, and read nothing meanwhile.

    ``cancels``: each request is cancelled at once.
    """
    for number in range(count):
        request_id = {"id": f"{message['id']}{number}"} if message.get("id") else {}
        send(**message | request_id)
        if cancels:
            send(method="notifications/cancelled", params={"requestId": request_id["id"]})


class StdioServer:
    """Answers messages; ``wait`` is the one call that it leaves open, until it is cancelled."""

    waiting = Path()
    pages = 0
    has_pages = False

    def handle(self, message: dict[str, Any]) -> None:
        number, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "light", "version": "1"},
                }
                send(id=number, result=result)
            case "tools/list":
                text = "Does. " * int(os.environ.get("PROBE_WORDS", "0"))
                listed = [
                    {"name": name, "description": text, "inputSchema": TOOLS[name]}
                    for name in TOOLS
                ]
                listed.append(
                    {
                        "name": "match",
                        "inputSchema": {"type": "object"},
                        "outputSchema": SLOW_PATTERN,
                    }
                )
                send(id=number, result={"tools": listed} | self.turn_page())
            case "tools/call":
                self.call(number, params["name"], params.get("arguments") or {})
            case "notifications/cancelled":
                (self.waiting / "cancelled").touch()
            case None:
                pass  # a reply
            case _:
                if number is not None:
                    send(id=number, error={"code": -32601, "message": "no such method"})

    def turn_page(self) -> dict[str, str]:
        self.pages += 1
        return {"nextCursor": str(self.pages)} if self.has_pages else {}

    def call(self, number: Any, name: str, arguments: dict[str, Any]) -> None:
        if name == "end":
            os._exit(3)
        if name == "flood":
            flood()
        if name == "repeat":
            repeat(**arguments)
        if name == "wait":
            self.waiting = Path(arguments["folder"])
            (self.waiting / "waiting").touch()
        else:
            result = {"content": content(name, arguments), "isError": name == "fail"}
            if name == "match":
                result["structuredContent"] = {"a": "a" * arguments["size"] + "!"}
            send(id=number, result=result)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stdio" | "pages" as mode]:
            server = StdioServer()
            server.has_pages = mode == "pages"
            for line in sys.stdin:
                server.handle(json.loads(line))
        case ["silent"]:
            sys.stdin.read()
        case ["flood"]:
            flood()
        case _:
            sys.exit("it is broken")
