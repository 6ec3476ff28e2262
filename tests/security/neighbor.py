"""A second person at work on the same server, and how long each page takes them."""

from __future__ import annotations

import re
from collections import defaultdict
from concurrent.futures import Future, wait
from statistics import median
from time import perf_counter
from typing import Any

from jpweb.store.choices import Role
from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.machine.sizes import choose_size
from tests.machine.visiting import Visitor
from tests.security.rows import find_workspace, query

#: Seconds between two rounds, unless the work ends. Without a pause, as their medians need it, the
#: pages take half of the server's processor time; with half a second a quarter. A lock that is held
#: for longer than this and what a request may take is noticed.
PAUSE_SECONDS = choose_size(4.0, 0.0)
_LINK = re.compile(r"data-link>([^<]+)<")


class Neighbor:
    """Somebody with an account of their own, a member of the demo and of no other workspace."""

    def __init__(self, server: Server, owner: Visitor) -> None:
        demo_id = find_workspace(server, "demo")
        ((conversation_id,),) = query(
            server,
            "SELECT id FROM store_conversation WHERE workspace_id = ? AND entry_count > 0 LIMIT 1",
            demo_id,
        )
        self.conversation = f"/conversations/{conversation_id}"
        self.visitor = self._join(server, owner, f"/workspaces/{demo_id}/people")
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._slowest: dict[str, float] = defaultdict(float)

    def visit(self) -> None:
        """Open every page once, and mark one conversation as read, which writes."""
        for page in ("/", "/conversations", self.conversation, "/questions"):
            start_time = perf_counter()
            assert self.visitor.get(page).status == 200
            self.seconds[page].append(perf_counter() - start_time)
        start_time = perf_counter()
        reading = self.visitor.post(f"{self.conversation}/read", self.conversation, entry_count="1")
        assert reading.status == 204
        self.seconds["read"].append(perf_counter() - start_time)

    def visit_until(self, *work: Future[Any], seconds: float = 300) -> dict[str, float]:
        """Visit until all work has ended without an error; return the medians meanwhile."""

        def is_over() -> bool:
            self.visit()
            return not wait(work, PAUSE_SECONDS).not_done

        wait_until(is_over, "the work has ended", seconds)
        for future in work:
            future.result()
        return self.take_medians()

    def take_medians(self) -> dict[str, float]:
        """Return the median of each page since the last call; keep the slowest request of each."""
        for page, seconds in self.seconds.items():
            self._slowest[page] = max(self._slowest[page], *seconds)
        result = {page: median(seconds) for page, seconds in self.seconds.items()}
        self.seconds.clear()
        return result

    def find_slow(self, max_seconds: float) -> dict[str, float]:
        """Return the slowest request of each page that took longer than this."""
        return {page: s for page, s in self._slowest.items() if s > max_seconds}

    def _join(self, server: Server, owner: Visitor, people_page: str) -> Visitor:
        reply = owner.post(
            f"{people_page}/invite", people_page, name="Nora", role=str(Role.RESPONDER.value)
        )
        link = _LINK.search(reply.text)
        assert link, reply.text
        visitor = Visitor(server.url)
        assert visitor.get(link[1]).status == 200
        code = link[1].partition("#")[2]
        assert visitor.post("/join", "/join", code=code, do="join").status == 200
        return visitor
