"""Limits of one person's sockets in this process: their number, and the cost of their messages.

Counted per web server, as other rates. Keeping an up-to-date page open costs next to nothing; a
page state costs by the cards that it names, since each may have to be read and rendered.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from jpweb.token_bucket import TokenBucket
from jpweb.web.websocket.protocol import AnswerMessage, ClientMessage, PageState, ReceiptReport

if TYPE_CHECKING:
    from jpweb.web.websocket.consumers import PageConsumer

#: Sockets per person (LRU). A further one closes the one that has been silent for longest, so that
#: the visible page works; the closed one reconnects when its page becomes visible.
MAX_SOCKETS = 100
#: Token bucket of page states per socket: burst, and refill per second. A page sends at most two a
#: second.
PAGE_STATE_BURST, PAGE_STATES_PER_SECOND = 60, 4.0
#: Token bucket of the cost of a person's messages: burst, and refill per second. 100 pages that
#: reconnect together cost 100 to 500.
COST_BURST, COST_PER_SECOND = 1_000.0, 10.0
#: Cards of a page state or a receipt report that add a cost of 1.
CARDS_PER_COST = 25
#: People whose budgets are kept; above it the oldest is evicted.
MAX_PEOPLE = 10_000

_sockets: dict[int, OrderedDict[PageConsumer, None]] = {}
_budgets: OrderedDict[int, TokenBucket] = OrderedDict()


def add_socket(person_id: int, socket: PageConsumer) -> PageConsumer | None:
    """Add a socket; return the one to close in exchange, None up to ``MAX_SOCKETS``."""
    sockets = _sockets.setdefault(person_id, OrderedDict())
    sockets[socket] = None
    return next(iter(sockets)) if len(sockets) > MAX_SOCKETS else None


def remove_socket(person_id: int, socket: PageConsumer) -> None:
    """Remove a socket; an unknown one is ignored."""
    sockets = _sockets.get(person_id, OrderedDict())
    sockets.pop(socket, None)
    if not sockets:
        _sockets.pop(person_id, None)


def admit_message(person_id: int, socket: PageConsumer, message: ClientMessage) -> bool:
    """Charge a message to its person; tell whether the budget allows it."""
    sockets = _sockets.get(person_id)
    if sockets is not None and socket in sockets:
        sockets.move_to_end(socket)
    if person_id not in _budgets and len(_budgets) >= MAX_PEOPLE:
        _budgets.popitem(last=False)
    new_budget = TokenBucket(COST_BURST, COST_PER_SECOND)
    return _budgets.setdefault(person_id, new_budget).take_tokens(measure_cost(message))


def measure_cost(message: ClientMessage) -> float:
    """Return the cost of a message."""
    match message:
        case PageState(cards=cards):
            return 1 + cards / CARDS_PER_COST
        case ReceiptReport():
            return 1 + len(message.cards) / CARDS_PER_COST
        case AnswerMessage():
            return 1
