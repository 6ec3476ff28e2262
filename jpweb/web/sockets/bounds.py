"""What the sockets of one person may cost this process: how many there are, what they ask for.

Counted in each web server, as other rates are. A page that is up to date costs next to nothing;
what costs are hellos, by the cards that they name, since each may have to be looked up and shown.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from jpweb.runtime.signals.allowance import TokenBucket
from jpweb.web.sockets.claims import Hello, Message, Seen, Sent

if TYPE_CHECKING:
    from jpweb.web.sockets.consumers import PageConsumer

#: Sockets that a person may have. A further one ends the one that was silent for longest, so that
#: the page in front of somebody works; the other comes back once it is looked at.
MAX_SOCKETS = 100
#: Hellos that one socket may say at once, and a second after that; a page says two a second.
HELLOS_AT_ONCE, HELLOS_PER_SECOND = 60, 4.0
#: What all messages of a person may cost at once, and a second after that. A hundred pages that
#: come back together cost 100 to 500.
COST_AT_ONCE, COST_PER_SECOND = 1_000.0, 10.0
#: Cards that a hello names for the cost of one, and those that were seen.
CARDS_PER_COST = 25
#: People whose costs are remembered; who was first is forgotten.
MAX_PEOPLE = 10_000

_sockets: dict[int, OrderedDict[PageConsumer, None]] = {}
_budgets: OrderedDict[int, TokenBucket] = OrderedDict()


def enter(person_id: int, socket: PageConsumer) -> PageConsumer | None:
    """Count a socket; return the one that has to go for it, if any."""
    sockets = _sockets.setdefault(person_id, OrderedDict())
    sockets[socket] = None
    return next(iter(sockets)) if len(sockets) > MAX_SOCKETS else None


def leave(person_id: int, socket: PageConsumer) -> None:
    """Count a socket no more; does nothing for one that is not known."""
    sockets = _sockets.get(person_id, OrderedDict())
    sockets.pop(socket, None)
    if not sockets:
        _sockets.pop(person_id, None)


def admit(person_id: int, socket: PageConsumer, message: Message) -> bool:
    """Count a message of a socket; tell whether the person may still say it."""
    sockets = _sockets.get(person_id)
    if sockets is not None and socket in sockets:
        sockets.move_to_end(socket)
    if person_id not in _budgets and len(_budgets) >= MAX_PEOPLE:
        _budgets.popitem(last=False)
    new = TokenBucket(COST_AT_ONCE, COST_PER_SECOND)
    return _budgets.setdefault(person_id, new).take(cost(message))


def cost(message: Message) -> float:
    """Return what a message costs."""
    match message:
        case Hello(cards=cards):
            return 1 + cards / CARDS_PER_COST
        case Seen():
            return 1 + len(message.cards) / CARDS_PER_COST
        case Sent():
            return 1


def forget() -> None:
    """Forget what people have cost."""
    _budgets.clear()
