"""Reads the records of a question and its answer from a journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jpweb.agent.ports import AnswerSource
from jpweb.stream.events import Element
from jpweb.stream.inquiry import InquiryRequest


def read_inquiry_id(element: Element) -> str:
    """Return the id of a request, also of one whose question this version cannot read."""
    if isinstance(element.kind, InquiryRequest):
        return element.kind.id
    with suppress(ValueError, RecursionError):
        inquiry_id = json.loads(element.raw).get("id")
        if isinstance(inquiry_id, str):
            return inquiry_id
    return ""


def is_self_answered(note: Mapping[str, Any]) -> bool:
    """Tell whether the process answered without a person, so the call got the answer at once."""
    by = note.get("by")
    kind = by.get("kind") if isinstance(by, Mapping) else None
    return kind in ("configuration", "memory", "assistant")


def read_source(note: Mapping[str, Any]) -> AnswerSource | None:
    """Return the person whom the note of an answer names; None where it names none."""
    match note.get("by"):
        case {"name": str(name), **by} if name:
            person_id = by.get("id")
            return AnswerSource(name, person_id if type(person_id) is int else None)
        case _:
            return None
