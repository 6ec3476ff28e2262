"""An MCP server of before 2026, without an SDK: ``python older.py FOLDER [VERSION]``.

Its one kind of tool asks what its arguments say, one form after another, and returns the replies.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

folder, version = Path(sys.argv[1]), (sys.argv[2:] or ["2025-11-25"])[0]
writing = threading.Lock()
numbers = itertools.count(1)
replies: dict[str, tuple[threading.Event, list[Any]]] = {}


def send(**message: Any) -> None:
    with writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def request(method: str, params: dict[str, Any]) -> Any:
    number = f"q{next(numbers)}"
    replies[number] = threading.Event(), []
    send(id=number, method=method, params=params)
    replies[number][0].wait()
    return replies[number][1][0]


def withdraw_form(form: dict[str, Any]) -> None:
    """Ask a form, and cancel it once the client asks a person."""
    send(id="withdrawn", method="elicitation/create", params=form)
    while not (folder / "asking").exists():
        time.sleep(0.01)
    send(method="notifications/cancelled", params={"requestId": "withdrawn"})


def call(number: int, name: str, arguments: dict[str, Any]) -> None:
    if name == "withdraw":
        withdraw_form(arguments["form"])
        return
    replies = [request("elicitation/create", form) for form in arguments.get("forms", [])]
    if name == "refuse":
        words = [str(word) for reply in replies for word in reply["result"]["content"].values()]
        send(id=number, error={"code": -32001, "message": " ".join(["x" * 495, *words])})
        return
    if name == "babble":
        send(id=number, result={"content": [{"type": "none", "text": f"{replies}"}]})
        return
    if name == "chat":
        with writing:
            print(f"debug: {replies}", flush=True)
        print(f"debug: {replies}", file=sys.stderr, flush=True)
        send(method="notifications/message", params={"level": "debug", "data": replies})
        send(method="notifications/progress", params={"odd": replies})
    if name == "hang":
        (folder / "hanging").touch()
        return
    text = json.dumps([reply.get("result") or "error" for reply in replies])
    send(id=number, result={"content": [{"type": "text", "text": text}]})


def page(cursor: str | None) -> dict[str, Any]:
    tool_names = ["ask", "refuse", "babble", "chat", "withdraw"]
    names, next_page = (tool_names, {"nextCursor": "2"}) if cursor is None else (["hang"], {})
    return {
        "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names],
        **next_page,
    }


def handle(message: dict[str, Any]) -> None:
    number, params = message.get("id"), message.get("params") or {}
    match message.get("method"):
        case "initialize":
            info = {"name": "older", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            send(id=number, result=result)
        case "tools/list":
            send(id=number, result=page(params.get("cursor")))
        case "tools/call":
            arguments = (number, params["name"], params.get("arguments") or {})
            threading.Thread(target=call, args=arguments, daemon=True).start()
        case "notifications/cancelled":
            (folder / "cancelled").touch()
        case None:
            replies[str(number)][1].append(message)
            replies[str(number)][0].set()
        case _:
            if number is not None:
                send(id=number, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    for line in sys.stdin:
        handle(json.loads(line))
