"""Caches the latest partial text of each reply, for pages that open while it is received.

A partial text reaches only the sockets that are subscribed when it is published, and a model
may pause for long after it. Every process receives the partial texts of all conversations. A
change of the conversation clears its text, because the journal may have it and a page would
show it twice.
"""

from __future__ import annotations

from time import monotonic

from jpweb.runtime.broadcast import local_bus
from jpweb.runtime.broadcast.local_bus import Signal

#: Conversations in the cache; above it, the oldest text is evicted.
MAX_CONVERSATIONS = 200
#: Seconds after which a text is stale: the process that received the reply has died.
MAX_AGE_SECONDS = 300.0

_texts: dict[str, tuple[float, Signal]] = {}


def note_text(signal: Signal) -> None:
    """Store the text of a ``partial`` signal; an empty text clears it."""
    _texts.pop(signal["to"], None)
    if signal["text"]:
        _texts[signal["to"]] = (monotonic(), signal)
        if len(_texts) > MAX_CONVERSATIONS:
            del _texts[next(iter(_texts))]


def forget_text(signal: Signal) -> None:
    """Clear the text of the conversation of a ``conversation`` signal."""
    _texts.pop(signal["to"], None)


def find_text(topic: str) -> Signal | None:
    """Return the latest ``partial`` signal of a conversation whose reply has not ended."""
    noted_at, signal = _texts.get(topic, (0.0, None))
    return signal if monotonic() - noted_at < MAX_AGE_SECONDS else None


local_bus.add_subscriber(local_bus.make_kind_topic("partial"), note_text)
local_bus.add_subscriber(local_bus.make_kind_topic("conversation"), forget_text)
