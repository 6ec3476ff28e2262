"""What of a journal entry is searched: everything said, asked, answered, called and returned.

What cannot be read, or is no speech (configuration), is not; and a secret never is. An answer is
searched only where its question is known and is not a secret one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jpweb.store import plain
from jpweb.store.finding import tags
from jpweb.stream import identity, timestamps
from jpweb.stream.answers import Secret, Select
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConversationEvent,
    Element,
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import Answered, InquiryQuestion, InquiryRequest, InquiryResponse
from jpweb.stream.layout.facets import facet

#: Characters of a passage; PostgreSQL tells the places of 16,000 words apart.
PART = 50_000
#: Passages of one entry; what lies beyond ten million characters is not searched.
PARTS = 200
#: How far back from its end a passage looks for a blank to end at.
_BACK = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """A journal entry as it is read for this."""

    position: int
    head: int
    anchor: str
    element: Element


@dataclass(frozen=True, slots=True)
class Asked:
    """An inquiry: what its row says."""

    tool: str
    state: str
    reason: str
    who: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A row to be; its key is given to it when it is written."""

    position: int
    part: int
    head: int
    anchor: str
    facet: str
    at: datetime
    body: str
    tags: str
    tool: str
    who: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for all of a conversation: when it began, and the tags of all its passages."""

    begun: datetime
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class Around:
    """What entries do not say themselves, by position: called tools; what is asked; what ends."""

    tools: Mapping[int, str]
    asked: Mapping[int, Asked]
    ended: Mapping[int, Asked]


@dataclass(slots=True)
class _Said:
    """What one event says."""

    texts: list[str] = field(default_factory=list)
    tool: str = ""
    who: str = ""
    asked: Asked | None = None


def title(text: str, labels: Mapping[str, object], common: Common) -> list[Passage]:
    """Return the passage of a conversation's title and labels, if it has any."""
    spelled = [f"{key}={value}" if value else str(key) for key, value in labels.items()]
    body = plain.text("\n".join(filter(None, [text, *spelled])))[:PART]
    if not body:
        return []
    own = " ".join(sorted(common.tags | {tags.facet("title")}))
    return [Passage(-1, 0, 0, "", "title", common.begun, body, own, "", "", "", "")]


def made(entry: Entry, common: Common, around: Around) -> Iterator[Passage]:
    """Yield the passages of an entry, in order; none where nothing is searched."""
    part = 0
    for nth, event in enumerate(entry.element.events):
        own = facet(Element("", event))
        said = _said(event, entry, around)
        anchor = identity.part(entry.anchor, nth)
        at = timestamps.parse(event.timestamp) or common.begun
        body = plain.text("\n".join(text for text in said.texts if text))
        asked = said.asked
        labelled = " ".join(sorted(common.tags | _tags(own, said)))
        for piece in list(_pieces(body)) or _alone(own):
            if part == PARTS:
                return
            yield Passage(
                position=entry.position,
                part=part,
                head=entry.head,
                anchor=anchor,
                facet=own,
                at=at,
                body=piece,
                tags=labelled,
                tool=plain.text(said.tool)[:200],
                who=plain.text(said.who)[:200],
                state=asked.state if asked else "",
                reason=asked.reason if asked else "",
            )
            part += 1


def _tags(own: str, said: _Said) -> set[str]:
    found = {tags.facet(own)} | tags.of_tool(said.tool[:200]) | tags.of_person(said.who[:200])
    if said.asked:
        found.add(tags.state(said.asked.state))
        if said.asked.reason:
            found.add(tags.named("reason", said.asked.reason))
    return found


def _said(event: ConversationEvent, entry: Entry, around: Around) -> _Said:
    match event.kind:
        case InquiryRequest() as request:
            asked = around.asked.get(entry.position)
            tool = asked.tool if asked else request.source.name or ""
            return _Said(_question(request.question), tool, asked.who if asked else "", asked)
        case InquiryResponse() as response:
            asked = around.ended.get(entry.position)
            said = _Said(_outcome(event, response, asked), asked=asked)
            if asked:
                said.tool, said.who = asked.tool, asked.who
            return said
        case ToolCallResponse(content=content):
            return _Said([content], around.tools.get(entry.head, ""))
        case ToolCallRequest(name=name, arguments=arguments):
            return _Said([name, *spelled(arguments)], name)
        case kind:
            return _talk(kind)


def _talk(kind: EventKind) -> _Said:
    match kind:
        case ChatRequest(content=content, author=author):
            return _Said([content], who=author or "")
        case ChatResponse(content=content):
            return _Said(list(spelled(content)))
        case Compaction(policies={"summary": {"summary": str(summary)}}):
            return _Said([summary])
        case _:
            return _Said()


def _question(question: InquiryQuestion) -> list[str]:
    """Return what a question says; the default of a secret would be one."""
    kind = question.answer_type
    options = kind.options if isinstance(kind, Select) else ()
    choices = [text for each in options for text in (each.label, each.description or "")]
    told = not isinstance(kind, Secret) and any(spelled(question.default))
    default = spelled({"default": question.default}) if told else ()
    return [question.text, question.context or "", *choices, *default]


def _outcome(event: ConversationEvent, given: InquiryResponse, asked: Asked | None) -> list[str]:
    note = event.note.get("note")
    texts = [note] if isinstance(note, str) else []
    if isinstance(given.outcome, Answered) and asked is not None and not asked.secret:
        texts += spelled(given.outcome.answer)
    return texts


def spelled(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value: strings as they are, each with its key; the rest as JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            texts = list(spelled(inner))
            yield f"{key}: {texts[0]}" if texts else f"{key}:"
            yield from texts[1:]
    elif isinstance(value, list):
        for inner in value:
            yield from spelled(inner)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield json.dumps(value)


def _alone(own: str) -> list[str]:
    """Return the one piece of what is found by its filters even where it says nothing."""
    return [""] if own == "question" else []


def _pieces(body: str) -> Iterator[str]:
    begin = 0
    while begin < len(body):
        end = begin + PART
        if end < len(body):
            blank = max(body.rfind(" ", end - _BACK, end), body.rfind("\n", end - _BACK, end))
            end = blank + 1 if blank > 0 else end
        yield body[begin:end]
        begin = end
