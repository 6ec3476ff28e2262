"""The stream of POST /v1/chat/completions: OpenRouter's and llama.cpp's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.machine.vendors.replies import Call, Piece, Reply, Say, Think, split_text

PATH = "/v1/chat/completions"
_REASONS = {"length": "length", "refusal": "content_filter"}
_USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}


def write_openrouter(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks, reasoning in detail, after a comment that keeps the connection."""
    yield b": OPENROUTER PROCESSING\n\n"
    yield from _frames(reply, body, _detailed, {"provider": "Somebody"})


def write_llamacpp(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks; reasoning is in ``reasoning_content``."""
    yield from _frames(reply, body, _of_llamacpp, {})


def _frames(reply: Reply, body: Mapping[str, Any], deltas: Any, extra: Any) -> Iterator[bytes]:
    base = {
        "id": "gen-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": body.get("model"),
        **extra,
    }
    calls = [piece for piece in reply.pieces if isinstance(piece, Call)]
    yield _chunk(base, {"role": "assistant", "content": ""})
    for piece in reply.pieces:
        index = calls.index(piece) if isinstance(piece, Call) else 0
        for delta in deltas(piece, index):
            yield _chunk(base, delta)
    if isinstance(reply.end, Mapping):
        yield f"data: {json.dumps({**base, 'error': dict(reply.end), 'choices': []})}\n\n".encode()
    elif reply.end in ("stop", *_REASONS):
        yield _chunk(base, {}, _REASONS.get(reply.end, "tool_calls" if calls else "stop"))
        yield f"data: {json.dumps({**base, 'choices': [], 'usage': _USAGE})}\n\n".encode()
        yield b"data: [DONE]\n\n"


def _chunk(base: Mapping[str, Any], delta: Any, finished: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finished}
    return f"data: {json.dumps({**base, 'choices': [choice]})}\n\n".encode()


def _detailed(piece: Piece, index: int) -> Iterator[dict[str, Any]]:
    if not isinstance(piece, Think):
        yield from _plain(piece, index)
        return
    common = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    for bit in split_text(piece.text):
        yield {"reasoning": bit, "reasoning_details": [{**common, "text": bit}]}
    if piece.signature:
        yield {"reasoning_details": [{**common, "signature": piece.signature}]}


def _of_llamacpp(piece: Piece, index: int) -> Iterator[dict[str, Any]]:
    if isinstance(piece, Think):
        yield from ({"reasoning_content": bit} for bit in split_text(piece.text))
    else:
        yield from _plain(piece, index)


def _plain(piece: Piece, index: int) -> Iterator[dict[str, Any]]:
    if isinstance(piece, Say):
        yield from ({"content": bit} for bit in split_text(piece.text))
    elif isinstance(piece, Call):
        yield {"tool_calls": [_call(piece, index, "")]}
        for bit in split_text(piece.json):
            yield {"tool_calls": [{"index": index, "function": {"arguments": bit}}]}


def _call(call: Call, index: int, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments}
    return {"index": index, "id": call.id, "type": "function", "function": function}
