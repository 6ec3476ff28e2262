"""What somebody downloads in many pieces."""

from __future__ import annotations

from jpweb.store.models import Person
from tests.load.synthetic import import_conversation
from tests.web.security.receiving import sign_in
from tests.web.world import World

EVENTS = 120


class Shelf:
    """Somebody who audits, with a conversation and inquiries that take many pieces."""

    def __init__(self, world: World) -> None:
        self.small_conversation = world.conversation
        self.conversation = import_conversation(world.workspace, EVENTS)
        longest = max(self.conversation.journal.all(), key=lambda entry: len(entry.text))
        self.anchor = longest.anchor
        self.person: Person = world.people["auditor"]
        self.cookie = sign_in(self.person)
        self.others_cookie = sign_in(world.people["owner"])

    def path(self, route: str) -> str:
        if route.startswith("/"):
            return route
        return f"/conversations/{self.conversation.pk}/{route.format(anchor=self.anchor)}"
