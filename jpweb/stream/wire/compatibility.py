"""Incompatibilities with an older jp (docs/jp-format.md, A jp before RFD 082)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from jpweb.stream import anchor_ids
from jpweb.stream.answer_type import ANSWER_TYPES, Boolean, Select, Text
from jpweb.stream.events import BrokenEvent, Element, TurnStart
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

_ANSWER_TYPES_BEFORE_RFD_082 = {Boolean.TAG, Select.TAG, Text.TAG}
_TURN_START_KEYS = {"timestamp", "type", "metadata"}


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """An element for which an older jp refuses the whole file; no position: the file itself.

    ``is_trashed`` where it would even move the conversation to its trash.
    """

    position: int | None
    anchor: str
    tag: str
    reason: str
    is_trashed: bool = False


def find_incompatibilities(elements: Sequence[Element], framing: str = "") -> list[Incompatibility]:
    """Return the elements that an older jp could not open, in order; for warnings."""
    incompatibilities = [
        Incompatibility(position, anchor, element.tag, reason, is_trashed)
        for position, (anchor, element) in enumerate(
            zip(anchor_ids.make_anchors(elements), elements, strict=True)
        )
        for reason, is_trashed in _find_reasons(element)
    ]
    if "\ufeff" not in framing:
        return incompatibilities
    return [
        Incompatibility(None, "", "", "the file begins with a byte order mark", True),
        *incompatibilities,
    ]


def _find_reasons(element: Element) -> Iterator[tuple[str, bool]]:
    body, value = element.body, _read_object(element)
    missing_keys = [key for key in ("timestamp", "type") if key not in value]
    if missing_keys:
        yield f"it has no {' and no '.join(f'“{key}”' for key in missing_keys)}", True
    elif isinstance(body, BrokenEvent):
        yield f"it is broken: {body.problem}", False
    match element.kind:
        case TurnStart() if extra_keys := sorted(value.keys() - _TURN_START_KEYS):
            yield f"a turn_start may not have {', '.join(f'“{key}”' for key in extra_keys)}", False
        case InquiryResponse() if "answer" not in value:
            yield "an inquiry_response without “answer” is of RFD 082", False
        case InquiryRequest():
            yield from _list_question_reasons(value["question"]["answer_type"])
        case _:
            pass


def _list_question_reasons(answer_type: Any) -> Iterator[tuple[str, bool]]:
    tag = answer_type.get("type") if isinstance(answer_type, dict) else None
    if tag not in ANSWER_TYPES:
        yield "its answer type is spelled as before March 2026", False
    elif tag not in _ANSWER_TYPES_BEFORE_RFD_082:
        yield f"{tag} questions are of RFD 082 or later", False
    elif not all(isinstance(option, dict) for option in answer_type.get("options", ())):
        yield "its options are spelled as before March 2026", False


def _read_object(element: Element) -> dict[str, Any]:
    """Return the keys of an element; none where it is not an object or cannot be read."""
    try:
        value = msgspec.json.decode(element.raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
