"""Passages: the searchable text of journal entries, in parts of bounded length.

Unreadable text, configuration and secrets are not indexed. An answer is indexed only where its
question is known and does not ask for a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jpweb.store import db_text
from jpweb.store.search import cjk, dialects, filter_terms
from jpweb.stream import anchor_ids, timestamps
from jpweb.stream.answer_type import Secret, Select
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
from jpweb.stream.transcript.categories import categorize_element

#: Characters of a passage; on PostgreSQL it ends where its index has no position for a word.
MAX_PASSAGE_CHARS = 50_000
#: Passages of one entry; text beyond ten million characters is not indexed.
MAX_PASSAGES_PER_ENTRY = 200
#: Characters before the limit in which a passage is cut at a line end, or else at a blank.
_BREAK_SEARCH_CHARS = 500


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A journal entry as the indexer reads it."""

    position: int
    item_position: int
    anchor: str
    element: Element


@dataclass(frozen=True, slots=True)
class InquiryInfo:
    """An inquiry: the columns of its row that search uses."""

    tool: str
    state: str
    reason: str
    who: str
    is_secret: bool


@dataclass(frozen=True, slots=True)
class PassageDraft:
    """A passage before its insertion, which gives it an id."""

    position: int
    part: int
    item_position: int
    anchor: str
    category: str
    at: datetime
    body: str
    tags: str
    tool: str
    who: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class ConversationTerms:
    """The start of a conversation, and the index terms of all its passages."""

    started_at: datetime
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class EntryContext:
    """The context of entries, by position: called tools; questions asked; questions settled."""

    tool_names: Mapping[int, str]
    requested: Mapping[int, InquiryInfo]
    settled: Mapping[int, InquiryInfo]


@dataclass(slots=True)
class _SearchableText:
    """The searchable text of one event."""

    texts: list[str] = field(default_factory=list)
    tool: str = ""
    who: str = ""
    inquiry: InquiryInfo | None = None


def make_title_passage(
    text: str, labels: Mapping[str, object], conversation_terms: ConversationTerms
) -> list[PassageDraft]:
    """Return the passage of a conversation's title and labels, if it has any."""
    spellings = [f"{key}={value}" if value else str(key) for key, value in labels.items()]
    body = db_text.clean_text("\n".join(filter(None, [text, *spellings])))[:MAX_PASSAGE_CHARS]
    if not body:
        return []
    terms = _join_terms(conversation_terms.terms | {filter_terms.make_category_term("title")}, body)
    return [
        PassageDraft(
            -1, 0, 0, "", "title", conversation_terms.started_at, body, terms, "", "", "", ""
        )
    ]


def make_passages(
    entry: SourceEntry, conversation_terms: ConversationTerms, context: EntryContext
) -> Iterator[PassageDraft]:
    """Yield the passages of an entry, in order; none where it has no searchable text."""
    part = 0
    for nth, event in enumerate(entry.element.events):
        category_name = categorize_element(Element("", event))
        searchable_text = _extract_text(event, entry, context)
        anchor = anchor_ids.make_event_anchor(entry.anchor, nth)
        at = timestamps.parse_timestamp(event.timestamp) or conversation_terms.started_at
        body = db_text.clean_text("\n".join(text for text in searchable_text.texts if text))
        inquiry = searchable_text.inquiry
        terms = conversation_terms.terms | _make_terms(category_name, searchable_text)
        max_passages = max(MAX_PASSAGES_PER_ENTRY // len(entry.element.events), 1)
        for piece in list(_split_body(body, max_passages)) or _filter_only_piece(category_name):
            if part == MAX_PASSAGES_PER_ENTRY:
                return
            yield PassageDraft(
                position=entry.position,
                part=part,
                item_position=entry.item_position,
                anchor=anchor,
                category=category_name,
                at=at,
                body=piece,
                tags=_join_terms(terms, piece),
                tool=db_text.clean_text(searchable_text.tool)[:200],
                who=db_text.clean_text(searchable_text.who)[:200],
                state=inquiry.state if inquiry else "",
                reason=inquiry.reason if inquiry else "",
            )
            part += 1


def _join_terms(terms: frozenset[str] | set[str], body: str) -> str:
    return " ".join(sorted(terms | cjk.list_terms(body)))


def _make_terms(category_name: str, searchable_text: _SearchableText) -> set[str]:
    terms = (
        {filter_terms.make_category_term(category_name)}
        | filter_terms.make_tool_terms(searchable_text.tool[:200])
        | filter_terms.make_person_terms(searchable_text.who[:200])
    )
    if searchable_text.inquiry:
        terms.add(filter_terms.make_state_term(searchable_text.inquiry.state))
        if searchable_text.inquiry.reason:
            terms.add(filter_terms.make_value_term("reason", searchable_text.inquiry.reason))
    return terms


def _extract_text(
    event: ConversationEvent, entry: SourceEntry, context: EntryContext
) -> _SearchableText:
    match event.kind:
        case InquiryRequest() as request:
            inquiry = context.requested.get(entry.position)
            tool = inquiry.tool if inquiry else request.source.name or ""
            return _SearchableText(
                _list_question_texts(request.question),
                tool,
                inquiry.who if inquiry else "",
                inquiry,
            )
        case InquiryResponse() as response:
            inquiry = context.settled.get(entry.position)
            searchable_text = _SearchableText(
                _list_outcome_texts(event, response, inquiry), inquiry=inquiry
            )
            if inquiry:
                searchable_text.tool, searchable_text.who = inquiry.tool, inquiry.who
            return searchable_text
        case ToolCallResponse(content=content):
            return _SearchableText([content], context.tool_names.get(entry.item_position, ""))
        case ToolCallRequest(name=name, arguments=arguments):
            return _SearchableText([name, *spell_json(arguments)], name)
        case kind:
            return _extract_message(kind)


def _extract_message(kind: EventKind) -> _SearchableText:
    match kind:
        case ChatRequest(content=content, author=author):
            return _SearchableText([content], who=author or "")
        case ChatResponse(content=content):
            return _SearchableText(list(spell_json(content)))
        case Compaction(policies={"summary": {"summary": str(summary)}}):
            return _SearchableText([summary])
        case _:
            return _SearchableText()


def _list_question_texts(question: InquiryQuestion) -> list[str]:
    """Return the texts of a question, without the default of a secret one."""
    kind = question.answer_type
    options = kind.options if isinstance(kind, Select) else ()
    choices = [text for option in options for text in (option.label, option.description or "")]
    has_default = not isinstance(kind, Secret) and any(spell_json(question.default))
    default = spell_json({"default": question.default}) if has_default else ()
    return [question.text, question.context or "", *choices, *default]


def _list_outcome_texts(
    event: ConversationEvent, response: InquiryResponse, inquiry: InquiryInfo | None
) -> list[str]:
    note = event.note.get("note")
    texts = [note] if isinstance(note, str) else []
    if isinstance(response.outcome, Answered) and inquiry is not None and not inquiry.is_secret:
        texts += spell_json(response.outcome.answer)
    return texts


def spell_json(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value: strings as they are, each with its key; the rest as JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            texts = list(spell_json(item))
            yield f"{key}: {texts[0]}" if texts else f"{key}:"
            yield from texts[1:]
    elif isinstance(value, list):
        for item in value:
            yield from spell_json(item)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield json.dumps(value)


def _filter_only_piece(category_name: str) -> list[str]:
    """Return the one empty piece of an entry that filters find without any text."""
    return [""] if category_name == "question" else []


def _split_body(body: str, max_passages: int) -> Iterator[str]:
    """Yield the pieces of a text, at most ``max_passages`` unless these would be too long.

    A piece ends before the first word that would have no position in its index, where that takes
    no more pieces.
    """
    find_index_end = dialects.get_dialect().find_index_end
    min_chars = min(len(body) // max_passages + 1, MAX_PASSAGE_CHARS - _BREAK_SEARCH_CHARS)
    begin = 0
    while begin < len(body):
        piece = body[begin : begin + MAX_PASSAGE_CHARS]
        end = find_index_end(piece)
        if end < min_chars:
            end = min_chars + _BREAK_SEARCH_CHARS
        if begin + end < len(body):
            end = _find_break(piece, max(min_chars, end - _BREAK_SEARCH_CHARS, 0), end)
        yield piece[:end]
        begin += end


def _find_break(text: str, first_char: int, last_char: int) -> int:
    """Return where to cut a text between two places: after a line end or a blank, or the last."""
    for separator in "\n ":
        if (index := text.rfind(separator, first_char, last_char)) >= 0:
            return index + 1
    return last_char
