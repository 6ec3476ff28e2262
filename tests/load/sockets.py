"""What memory an open socket takes that nothing is told to.

The floor is Channels' barest consumer, in one group of its own in-memory layer.
"""

from __future__ import annotations

from tests.load.benchmark import Progress
from tests.load.crowd import crowd
from tests.load.fanout import daphne

#: Sockets that are opened after some have been, and those first ones.
IDLE, FIRST = 2_000, 100


def idle(progress: Progress) -> tuple[float, float]:
    """Return the kilobytes of a page's socket, and of the floor, each in a daphne of its own."""
    ours, floor = (_each(way, step, progress) for step, way in enumerate(("ws", "layer")))
    return ours, floor


def _each(way: str, step: int, progress: Progress) -> float:
    with daphne() as server, crowd() as people:
        server.enter(people, way, FIRST, lambda _: None)
        people.idle(1)
        server.rest()
        before = server.resident()
        server.enter(people, way, IDLE, lambda n: progress(step * IDLE + n, 2 * IDLE))
        people.idle(2)
        server.rest()
        return (server.resident() - before) / IDLE / 1024
