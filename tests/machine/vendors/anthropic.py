"""The stream of POST /v1/messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.machine.vendors.replies import Call, Piece, Reply, Say, Think, split_text

PATH = "/v1/messages"
_REASONS = {"length": "max_tokens", "refusal": "refusal"}


def write_frames(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events of a reply, except the end of one that has none."""
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    yield _event("message_start", message=message)
    yield _event("ping")
    for index, piece in enumerate(reply.pieces):
        is_complete = reply.end in ("stop", "length", "refusal") or index < len(reply.pieces) - 1
        yield from _block(index, piece, is_complete=is_complete)
    if isinstance(reply.end, Mapping):
        yield _event("error", error=dict(reply.end))
    elif reply.end in ("stop", *_REASONS):
        stop_reason = "tool_use" if reply.calls else "end_turn"
        delta = {"stop_reason": _REASONS.get(reply.end, stop_reason), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": 7})
        yield _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _block(index: int, piece: Piece, *, is_complete: bool) -> Iterator[bytes]:
    start, deltas = _content(piece)
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    if is_complete:
        yield _event("content_block_stop", index=index)


def _content(piece: Piece) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match piece:
        case Think(redacted=True, signature=data):
            return {"type": "redacted_thinking", "data": data}, []
        case Think(text=text, signature=signature):
            deltas = [{"type": "thinking_delta", "thinking": bit} for bit in split_text(text)]
            signature_delta = (
                [{"type": "signature_delta", "signature": signature}] if signature else []
            )
            return {"type": "thinking", "thinking": "", "signature": ""}, [
                *deltas,
                *signature_delta,
            ]
        case Say(text=text):
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": bit} for bit in split_text(text)
            ]
        case Call(name=name, id=id_) as call:
            deltas = [
                {"type": "input_json_delta", "partial_json": bit}
                for bit in ("", *split_text(call.json))
            ]
            return {"type": "tool_use", "id": id_, "name": name, "input": {}}, deltas
