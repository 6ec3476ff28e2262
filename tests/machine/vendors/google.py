"""The stream of POST /v1beta/models/<model>:streamGenerateContent?alt=sse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.machine.vendors.replies import Call, Piece, Reply, Say, Think, split_text

PATH = ":streamGenerateContent"
_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}


def write_frames(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks; the last one holds the reason why it is that."""
    parts = [part for piece in reply.pieces for part in _parts(piece)]
    for part in parts:
        yield _chunk([part])
    if isinstance(reply.end, Mapping):
        yield _data({"error": dict(reply.end)})
    elif reply.end in _REASONS:
        yield _chunk([{"text": ""}], _REASONS[reply.end])


def _data(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\r\n\r\n".encode()


def _chunk(parts: Any, finished: str | None = None) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finished:
        candidate["finishReason"] = finished
    return _data(
        {
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": 9,
                "candidatesTokenCount": 7,
                "totalTokenCount": 16,
            },
            "modelVersion": "gemini",
            "responseId": "r1",
        }
    )


def _parts(piece: Piece) -> Iterator[dict[str, Any]]:
    signature = {"thoughtSignature": piece.signature} if piece.signature else {}
    match piece:
        case Think(text=text):
            yield from ({"text": bit, "thought": True} for bit in split_text(text))
        case Say(text=text):
            yield from ({"text": bit} for bit in split_text(text))
            if signature:
                yield {"text": "", **signature}
        case Call(name=name, arguments=arguments, id=id_):
            yield {"functionCall": {"name": name, "args": dict(arguments), "id": id_}, **signature}
