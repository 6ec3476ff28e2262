"""One workspace with somebody in every role, one conversation, one open question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from django.db import transaction
from django.test import Client

from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import Approval, Group, GroupRole, Membership, Person, SuspectedSecret
from jpweb.store.people import group_members, groups
from jpweb.store.suspected_secrets import scanner
from jpweb.stream.events import ChatRequest
from jpweb.web.security import rate_limits
from jpweb.web.websocket import socket_limits
from tests.store import making
from tests.web.reading import parse_page

#: Everybody whom a page may meet. ``rival`` owns another workspace; ``outsider`` has none.
MEMBERS = {role.label: role for role in Role}
#: A text that the detector suspects.
SECRET = "AKIACANARYCANARY7F3A"
EVERYBODY = [*MEMBERS, "outsider", "rival", "anonymous"]


class World:
    """Rows that a page can be asked for."""

    def __init__(self) -> None:
        self.workspace, self.other_workspace = (
            making.workspace("Garden"),
            making.workspace("Elsewhere"),
        )
        self.people = {
            name: making.person(name, role, self.workspace) for name, role in MEMBERS.items()
        }
        self.people["outsider"] = making.person("outsider")
        self.people["rival"] = making.person("rival", Role.OWNER, self.other_workspace)
        self.conversation = making.conversation(self.workspace, "A talk", self.people["owner"])
        self.run = making.start_run(self.conversation, self.people["owner"])
        self.question = making.question(self.run)
        self.anchor = self.question.anchor
        self._prompt: Approval | None = None
        self._suggestion: SuspectedSecret | None = None

    @property
    def prompt(self) -> Approval:
        """A prompt that waits; it is there for those alone who ask for it."""
        self._prompt = self._prompt or making.prompt(self.run)
        return self._prompt

    @property
    def suggestion(self) -> SuspectedSecret:
        """A suspected secret of another conversation; it is there for those alone who ask."""
        if self._suggestion is None:
            request = ChatRequest(f"Log in with {SECRET}, please")
            making.mirrored_conversation(self.workspace, request)
            while scanner.scan_next() is not None:
                pass
            self._suggestion = SuspectedSecret.objects.get()
        return self._suggestion

    @property
    def group(self) -> Group:
        """A group with a role in the workspace; it is there for those alone who ask."""
        group, is_new = Group.objects.get_or_create(name="Night shift")
        if is_new:
            GroupRole.objects.create(group=group, workspace=self.workspace, role=Role.READER)
        return group

    def join_elsewhere(self, name: str) -> list[str]:
        """Have a person accept a group of the other workspace; return the ended sign-ins."""
        rival = self.people["rival"]
        actor = Actor.from_person(rival)
        group = groups.create_group("Day shift", rival)
        groups.give_role(group, self.other_workspace, Role.READER, actor)
        group_members.add_person(group, self.people[name], actor)
        return group_members.accept_group(group.members.get(), self.people[name])

    def member(self, name: str) -> Membership:
        return Membership.objects.get(person=self.people[name], workspace=self.workspace)

    def client(self, name: str) -> Client:
        return Client() if name == "anonymous" else signed_in(self.people[name])


def clear_limits() -> None:
    """Forget what was counted of anybody: people of several tests have the same keys."""
    socket_limits._budgets.clear()
    for limit in vars(rate_limits).values():
        if isinstance(limit, rate_limits.RateLimit):
            limit.clear()


@contextmanager
def undone() -> Iterator[None]:
    """Roll back to a savepoint: each visitor of a world finds it as the first one did."""
    clear_limits()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class SignIns:
    """The sign-ins of a world's people and the middleware, which cost a test once."""

    def __init__(self, world: World, *names: str) -> None:
        self._cookies = {name: world.client(name).cookies for name in names}
        self._handler = Client().handler

    def client(self, name: str) -> Client:
        """Return a new client of a person, to whom a view that raises answers 500."""
        client = Client(raise_request_exception=False)
        client.handler = self._handler
        client.cookies = deepcopy(self._cookies[name])
        return client


def signed_in(person: Person, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(person)
    return client


def take_invitation(client: Client, token: str) -> Any:
    """Join by an invitation as its page has the boxes ticked; return the response."""
    offer = parse_page(client.post("/join", {"code": token}))
    kept_keys = [field["value"] for field in offer.find_all(name="keep") if "checked" in field]
    return client.post("/join", {"code": token, "do": "join", "keep": kept_keys}, follow=True)
