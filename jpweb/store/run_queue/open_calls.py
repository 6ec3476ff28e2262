"""Tool calls without a response, and the responses that they get when their run ends early.

The result of a call, and the policy that permitted it, may be nowhere but in its checkpoint or in
the note of its question: each response takes them along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jpweb.store import db_text
from jpweb.store.models import CallCheckpoint, Run
from jpweb.store.run_queue import call_checkpoints
from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import InquiryRequest
from jpweb.stream.sanitize import INTERRUPTED
from jpweb.stream.turns import pair_elements, split_turns


def list_calls(elements: Sequence[Element]) -> list[tuple[str, bool]]:
    """Return the ids of the tool calls of the last turn, and whether they have a response."""
    turns = split_turns(elements)
    if not turns:
        return []
    pairs = pair_elements(elements, turns[-1])
    positioned_kinds = ((p, elements[p].kind) for p in range(turns[-1].start, turns[-1].end))
    return [
        (kind.id, position in pairs.responses)
        for position, kind in positioned_kinds
        if isinstance(kind, ToolCallRequest)
    ]


def list_open_calls(elements: Sequence[Element]) -> list[str]:
    """Return the ids of the tool calls of the last turn without a response."""
    return [call_id for call_id, has_response in list_calls(elements) if not has_response]


def build_responses(
    run: Run, elements: Sequence[Element], timestamp: str
) -> Iterator[ConversationEvent]:
    """Build the responses of the open calls, each with the note of the policies that decided.

    A final result stays the result of its call; one that a person has yet to let the model see
    does not.
    """
    checkpoints = call_checkpoints.get_checkpoints(run)
    permissions = _find_permissions(elements)
    for call_id in list_open_calls(elements):
        response = ToolCallResponse(call_id, INTERRUPTED, is_error=True)
        checkpoint = checkpoints.get(db_text.clean_text(call_id))
        if checkpoint is None or checkpoint.content is None:
            note = permissions.get(call_id, {})
        else:
            note = _make_result_note(checkpoint)
            if checkpoint.delivered:
                response = ToolCallResponse(call_id, checkpoint.content, checkpoint.is_error)
        yield ConversationEvent(timestamp, response, {"jpweb": note} if note else {})


def _make_result_note(checkpoint: CallCheckpoint) -> dict[str, Any]:
    """Return the note of a call that has a result, as ``CallResult.to_metadata`` makes it."""
    note: dict[str, Any] = {"again": True} if checkpoint.was_cut_off else {}
    if checkpoint.edited is not None:
        note["arguments"] = checkpoint.edited
    return note | (checkpoint.policies or {})


def _find_permissions(elements: Sequence[Element]) -> dict[str, dict[str, Any]]:
    """Return the policy's note beside the last question of each open call of the last turn.

    A note that jpweb did not write may have another form, and counts as absent.
    """
    permissions: dict[str, dict[str, Any]] = {}
    for turn in split_turns(elements)[-1:]:
        for element in elements[turn.start : turn.end]:
            if not isinstance(element.body, ConversationEvent):
                continue
            match element.body.kind, element.body.note:
                case InquiryRequest(), {
                    "tool_call_id": str(call_id),
                    "permission": {"by": {"kind": str()}} as permission,
                }:
                    permissions[call_id] = {"permission": permission}
                case (InquiryRequest(), {"tool_call_id": str(call_id)}) | (
                    ToolCallResponse(id=call_id),  # another call may have its id
                    _,
                ):
                    permissions.pop(call_id, None)
                case _:
                    pass
    return permissions
