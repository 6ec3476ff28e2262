"""The stream of Ollama's POST /api/chat: lines of JSON, a call in one piece."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.machine.vendors.replies import Call, Piece, Reply, Say, Think, split_text

PATH = "/api/chat"
#: Stands in a line for a call's arguments, which may be nested too deeply for the json module.
_ARGUMENTS = "@arguments@"


def write_frames(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield a line for each piece, and the last one with the reason of the end."""
    yield b"\n"  # as a proxy keeps a connection alive
    base = {"model": body.get("model"), "created_at": "2026-09-21T10:00:00.000000Z"}
    for piece in reply.pieces:
        for message in _messages(piece):
            line = base | {"message": {"role": "assistant", "content": ""} | message}
            frame = _line(line | {"done": False})
            if isinstance(piece, Call):
                frame = frame.replace(f'"{_ARGUMENTS}"'.encode(), piece.json.encode())
            yield frame
    if isinstance(reply.end, Mapping):
        yield _line(reply.end)
    elif reply.end in ("stop", "length"):
        counts = {"total_duration": 9, "prompt_eval_count": 9, "eval_count": 7}
        message = {"role": "assistant", "content": ""}
        end = {"message": message, "done_reason": reply.end, "done": True}
        yield _line(base | end | counts)


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _messages(piece: Piece) -> Iterator[dict[str, Any]]:
    match piece:
        case Think(text=text):
            yield from ({"thinking": bit} for bit in split_text(text))
        case Say(text=text):
            yield from ({"content": bit} for bit in split_text(text))
        case Call(name=name, id=id_):
            function = {"index": 0, "name": name, "arguments": _ARGUMENTS}
            yield {"tool_calls": [{"id": id_, "function": function}]}
