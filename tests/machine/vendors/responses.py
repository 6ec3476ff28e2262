"""The stream of POST /v1/responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any

from tests.machine.vendors.replies import Call, Piece, Reply, Say, Think, split_text

PATH = "/v1/responses"


def write_frames(reply: Reply, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events, numbered."""
    for number, event in zip(count(), _events(reply, body), strict=False):
        data = json.dumps({**event, "sequence_number": number})
        yield f"event: {event['type']}\ndata: {data}\n\n".encode()


def _events(reply: Reply, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response(body, "in_progress")}
    yield {"type": "response.in_progress", "response": _response(body, "in_progress")}
    item_ids = {item["id"] for item in body["input"] if "id" in item}
    for index, piece in enumerate(reply.pieces):
        is_complete = reply.end in ("stop", "refusal") or index < len(reply.pieces) - 1
        yield from _item(index, piece, item_ids, is_complete=is_complete)
    match reply.end:
        case "stop":
            yield {"type": "response.completed", "response": _response(body, "completed")}
        case "length":
            cut = {"incomplete_details": {"reason": "max_output_tokens"}}
            yield {
                "type": "response.incomplete",
                "response": _response(body, "incomplete") | cut,
            }
        case "refusal":
            yield from _refusal(len(reply.pieces))
            yield {"type": "response.completed", "response": _response(body, "completed")}
        case Mapping() as error:
            response = _response(body, "failed") | {"error": dict(error)}
            yield {"type": "response.failed", "response": response}
        case _:
            pass


def _response(body: Mapping[str, Any], status: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 16,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "model": body.get("model"),
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "store": body.get("store", True),
        "usage": usage if status == "completed" else None,
    }


def _item(
    index: int, piece: Piece, item_ids: set[str], *, is_complete: bool
) -> Iterator[dict[str, Any]]:
    """Yield the events of an item; its id is none of ``item_ids``, and is added to them."""
    item, final_fields, events = _content(piece)
    names = (f"{item['id']}_{number}" for number in count(2))
    item["id"] = next(name for name in chain([item["id"]], names) if name not in item_ids)
    item_ids.add(item["id"])
    at = {"output_index": index, "item_id": item["id"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    yield from (event | at for event in events)
    if is_complete:
        yield {
            "type": "response.output_item.done",
            "output_index": index,
            "item": item | final_fields,
        }


def _content(piece: Piece) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    match piece:
        case Think():
            return _reasoning(piece)
        case Say():
            return _message(piece)
        case Call():
            return _call(piece)


def _reasoning(piece: Think) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Return an item; each paragraph is a summary of its own."""
    texts = piece.text.split("\n\n") if piece.text else []
    events: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        at = {"summary_index": index}
        part = {"type": "summary_text", "text": ""}
        name = "response.reasoning_summary"
        events.append({"type": f"{name}_part.added", "part": part} | at)
        events += [{"type": f"{name}_text.delta", "delta": bit} | at for bit in split_text(text)]
        events.append({"type": f"{name}_text.done", "text": text} | at)
        events.append({"type": f"{name}_part.done", "part": part | {"text": text}} | at)
    summary = [{"type": "summary_text", "text": text} for text in texts]
    item: dict[str, Any] = {"type": "reasoning", "id": piece.id, "summary": []}
    return item, {"summary": summary, "encrypted_content": piece.signature}, events


def _message(piece: Say) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
    at = {"content_index": 0}
    full = part | {"text": piece.text}
    deltas = [
        {"type": "response.output_text.delta", "delta": bit, "logprobs": []} | at
        for bit in split_text(piece.text)
    ]
    events: list[dict[str, Any]] = [
        {"type": "response.content_part.added", "part": part} | at,
        *deltas,
        {"type": "response.output_text.done", "text": piece.text, "logprobs": []} | at,
        {"type": "response.content_part.done", "part": full} | at,
    ]
    item: dict[str, Any] = {"type": "message", "id": piece.id, "role": "assistant", "content": []}
    item |= {"status": "in_progress"} | ({"phase": piece.phase} if piece.phase else {})
    return item, {"content": [full], "status": "completed"}, events


def _call(piece: Call) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    name = "response.function_call_arguments"
    events = [{"type": f"{name}.delta", "delta": bit} for bit in split_text(piece.json)]
    if piece.raw is None:
        events.append({"type": f"{name}.done", "arguments": piece.json, "name": piece.name})
    item = {
        "type": "function_call",
        "id": f"fc_{piece.id}",
        "call_id": piece.id,
        "name": piece.name,
        "arguments": "",
        "status": "in_progress",
    }
    return item, {"arguments": piece.json, "status": "completed"}, events


def _refusal(index: int) -> Iterator[dict[str, Any]]:
    at = {"output_index": index, "item_id": "msg_r", "content_index": 0}
    yield {"type": "response.refusal.delta", "delta": "I will not."} | at
    yield {"type": "response.refusal.done", "refusal": "I will not."} | at
