"""The newest text of each reply that is being received, for pages that open in its midst.

A text reaches only the sockets that listen when it is told, and a model may pause for long after
it. Every process hears the texts of all conversations, so each can tell them to its own sockets.
A conversation that has changed may have the text on record by now, and would show it twice.
"""

from __future__ import annotations

from time import monotonic

from jpweb.runtime.signals import fanout
from jpweb.runtime.signals.fanout import Signal

#: Conversations whose text is kept; beyond, the one whose text is oldest goes.
MAX_CONVERSATIONS = 200
#: Seconds after which a text is no longer told: the process that received it died before its end.
MAX_AGE_SECONDS = 300.0

_texts: dict[str, tuple[float, Signal]] = {}


def note_text(signal: Signal) -> None:
    """Keep the text of a ``partial`` signal until the next of its conversation; none clears it."""
    _texts.pop(signal["to"], None)
    if signal["text"]:
        _texts[signal["to"]] = (monotonic(), signal)
        if len(_texts) > MAX_CONVERSATIONS:
            del _texts[next(iter(_texts))]


def forget_text(signal: Signal) -> None:
    """Forget the text of the conversation that a ``conversation`` signal tells of."""
    _texts.pop(signal["to"], None)


def find_text(topic: str) -> Signal | None:
    """Return the newest ``partial`` signal of a conversation whose reply has not ended."""
    noted_at, signal = _texts.get(topic, (0.0, None))
    return signal if monotonic() - noted_at < MAX_AGE_SECONDS else None


fanout.subscribe("partial", note_text)
fanout.subscribe("conversation", forget_text)
