"""Messages of a page over its WebSocket: its state, read receipts of cards, and answers.

No field is trusted: keys are looked up, and permissions are checked in the database.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jpweb.runtime.inquiries import receipt_buffer
from jpweb.web import converters
from jpweb.web.transcript import MAX_QUERY_CHARS, parse_groups
from jpweb.web.websocket.conversation_updates import RenderedState
from jpweb.web.websocket.inbox_updates import CardKeys

#: Cards in a message: five times those of a full inbox (``inbox.queue.MAX_INBOX_CARDS``).
MAX_CARDS = 500
#: Receipts in a message: each kind of receipt for each card.
MAX_RECEIPTS = MAX_CARDS * len(receipt_buffer.RECEIPT_KINDS)
#: Characters of ``run``, ``metadata``, ``run_status`` and ``approval_state``, which a page sends.
MAX_KEY_LENGTH = 100
#: Fields of a page's state. A page that an older jpweb rendered has others, and must be reloaded.
PAGE_STATE_FIELDS = {
    "person", "questions", "approvals", "inbox", "conversation", "entry_count", "revision", "run",
    "metadata", "first", "last", "show", "search", "workspace", "claims", "snoozed",
    "approval_claims", "run_status", "approval_state",
}  # fmt: skip
#: Errors that parsing a malformed message raises.
MALFORMED_ERRORS = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """The conversation and cards that a page shows. Compared by identity: one per page state.

    ``workspace_id`` is the workspace to which the page's inbox is filtered, None without a filter.
    """

    person_id: int
    conversation_id: int | None
    open_cards: CardKeys | None
    workspace_id: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerMessage:
    """A card's form, sent over the WebSocket; the reply repeats its ``number``.

    ``person_id`` is the person for whom the page was rendered, as in ``PageState``.
    """

    person_id: int | None
    number: int
    question_id: int
    answer: str
    remember: bool


@dataclass(frozen=True, slots=True)
class ReceiptReport:
    """Read receipts of cards."""

    cards: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page; ``person_id`` is the person for whom it was rendered, unverified."""

    person_id: int | None
    subscription: Subscription
    page: RenderedState
    #: Number of cards in the message, by which it is charged.
    cards: int


#: Messages from page to server.
ClientMessage = PageState | ReceiptReport | AnswerMessage


def parse_message(person_id: int, text: str) -> ClientMessage:
    """Parse a message of a person's page. Raises one of ``MALFORMED_ERRORS``."""
    payload: dict[str, Any] = json.loads(text)
    if "receipts" in payload:
        return ReceiptReport(_parse_receipts(payload["receipts"]))
    if "answer" in payload:
        return _parse_answer(payload)
    if unknown_fields := payload.keys() - PAGE_STATE_FIELDS:
        raise ValueError(unknown_fields)
    questions, approvals = payload.get("questions"), payload.get("approvals")
    open_cards = CardKeys(
        _parse_keys(questions),
        _parse_keys(approvals),
        _parse_claims(payload.get("claims")),
        _parse_keys(payload.get("snoozed")),
        _parse_claims(payload.get("approval_claims")),
    )
    question_keys = (open_cards.questions, open_cards.claims, open_cards.snoozed)
    approval_keys = (open_cards.approvals, open_cards.approval_claims)
    card_count = max(map(len, question_keys)) + max(map(len, approval_keys))
    if card_count > MAX_CARDS:
        raise ValueError(card_count)
    return PageState(
        _parse_person_id(payload),
        _parse_subscription(person_id, payload, open_cards),
        _parse_page(payload),
        card_count,
    )


def _parse_person_id(payload: dict[str, Any]) -> int | None:
    return None if payload.get("person") is None else _parse_number(payload["person"])


def _parse_claims(pairs: Any) -> frozenset[tuple[int, int]]:
    return frozenset((_parse_number(key), _parse_number(claim)) for key, claim in pairs or [])


def _parse_page(payload: dict[str, Any]) -> RenderedState:
    return RenderedState(
        _parse_number(payload.get("entry_count") or 0),
        _parse_number(payload.get("revision") or 0),
        _parse_text(payload.get("run"), MAX_KEY_LENGTH),
        _parse_text(payload.get("metadata"), MAX_KEY_LENGTH),
        min(max(int(payload.get("first") or 0), 0), converters.MAX_KEY),
        None if payload.get("last") is None else _parse_number(payload["last"]),
        parse_groups(str(payload.get("show") or "")),
        _parse_text(payload.get("search"), MAX_QUERY_CHARS),
        None
        if payload.get("run_status") is None
        else _parse_text(payload["run_status"], MAX_KEY_LENGTH),
        None
        if payload.get("approval_state") is None
        else _parse_text(payload["approval_state"], MAX_KEY_LENGTH),
    )


def _parse_subscription(
    person_id: int, payload: dict[str, Any], open_cards: CardKeys
) -> Subscription:
    conversation_id = payload.get("conversation")
    return Subscription(
        person_id,
        None if conversation_id is None else _parse_number(conversation_id),
        open_cards if payload.get("inbox") else None,
        None if payload.get("workspace") is None else _parse_number(payload["workspace"]),
    )


def _parse_receipts(pairs: list[Any]) -> list[tuple[int, str]]:
    if len(pairs) > MAX_RECEIPTS:
        raise ValueError(len(pairs))
    parsed_pairs = [(_parse_number(key), kind) for key, kind in pairs]
    if unknown_kinds := {kind for _, kind in parsed_pairs} - receipt_buffer.RECEIPT_KINDS:
        raise ValueError(unknown_kinds)
    return parsed_pairs


def _parse_answer(payload: dict[str, Any]) -> AnswerMessage:
    number, question, answer = payload["number"], payload["question"], payload["answer"]
    if not isinstance(answer, str):
        raise TypeError(answer)
    answer.encode()  # raises for a lone surrogate
    remember = bool(payload.get("remember"))
    return AnswerMessage(
        _parse_person_id(payload), _parse_number(number), _parse_number(question), answer, remember
    )


def _parse_keys(values: Any) -> frozenset[int]:
    return frozenset(_parse_number(key) for key in values or [])


def _parse_number(value: Any) -> int:
    number = int(value)
    if not 0 <= number <= converters.MAX_KEY:
        raise ValueError(number)
    return number


def _parse_text(value: Any, max_length: int) -> str:
    text = str(value or "")[:max_length]
    text.encode()  # raises for a lone surrogate
    return text
