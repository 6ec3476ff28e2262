"""Lists from a key of another workspace: the answer is that of a key which no row has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import resolve, reverse

from jpweb.store.annotations import bookmarks, threads
from jpweb.store.choices import ApprovalKind, DecisionKind, Role
from jpweb.store.database import clock
from jpweb.store.ledger.entries import Actor
from jpweb.store.models import (
    Approval,
    Bookmark,
    Comment,
    Inquiry,
    LedgerEntry,
    Person,
    ReviewTask,
    SuspectedSecret,
    Workspace,
)
from jpweb.store.reviews import assignments, subjects
from jpweb.store.suspected_secrets import scanner
from jpweb.stream.events import ChatRequest
from tests.machine.sizes import IS_PROOF
from tests.store import making
from tests.web.world import SECRET, World, clear_limits, signed_in

_WEB = Path(__file__).parents[3] / "jpweb" / "web"
#: What differs from response to response: tokens.
_TOKEN = re.compile(rb"[0-9A-Za-z_-]{32,}")
#: Parameters that name a row or a place in a list, of each list; those of the search's words too.
_PARAMETERS = {
    "audit": ("before", "at", "conversation", "workspace"),
    "audit-charts": ("conversation", "workspace"),
    "bookmarks": ("before",),
    "conversations": ("after", "before", "workspace"),
    "decisions": ("after", "at", "conversation", "person", "workspace"),
    "ledger": ("before", "conversation", "person", "workspace"),
    "mentions": ("before",),
    "notifications-waiting": ("tag",),
    "questions": ("workspace",),
    "readers": ("before",),
    "search": ("below", "from", "in"),
    "secrets": ("before", "workspace"),
}
#: Those of the pages of one conversation.
_CONVERSATION_PARAMETERS = {
    "conversation": ("after", "at", "before", "turn"),
    "conversation-compacted": ("from", "to"),
    "conversation-configuration": ("from",),
    "conversation-find": ("after", "at", "from"),
    "conversation-neighbour": ("list",),
    "conversation-raw": ("before", "from"),
    "conversation-step": ("at", "from"),
    "conversation-thread": ("from", "turn"),
    "conversation-timeline": ("from",),
}
#: Those of single events, questions and queues.
_OTHER_PARAMETERS = {
    "comments": ("from",),
    "event-redact": ("suggestion",),
    "question": ("audit",),
    "review-queue": ("after",),
}
#: Parameters that name no row and no place.
_PLAIN_NAMES = frozenset({"comments", "lacks", "next", "open", "part", "q", "queue", "revision",
    "show", "shut", "sort", "state", "what", "words"})  # fmt: skip


def fill(workspace: Workspace, person: Person) -> None:
    """Save a row of each kind that lists have, of a conversation of its own."""
    actor, starter = Actor.from_person(person), making.person("", Role.RESPONDER, workspace)
    conversation = making.conversation(workspace, f"{workspace.name} talk", starter)
    run = making.start_run(conversation, starter)
    question = making.settle(making.question(run), making.ANSWER, making.decider(starter))
    approval = making.prompt(run, ApprovalKind.RUN)
    Approval.objects.filter(pk=approval.pk).update(settled_at=question.settled_at, state="allowed")
    for subject in (subjects.load_question(question), subjects.load_conversation(conversation)):
        assignments.assign(subject, person.pk, actor)
    bookmarks.toggle_bookmark(person.pk, conversation, question.anchor)
    threads.add_comment(conversation, question.anchor, person, f"Look, @{person.username}.")
    making.mirrored_conversation(workspace, ChatRequest(f"Log in with {SECRET}, please"))


@pytest.fixture
def filled_world(world: World) -> World:
    """Return a world with rows of the other workspace between those of the first one."""
    for workspace, person in (
        (world.workspace, world.people["owner"]),
        (world.other_workspace, world.people["rival"]),
        (world.workspace, world.people["owner"]),
    ):
        fill(workspace, person)
        while scanner.scan_next() is not None:
            pass
    return world


def list_foreign_values(workspace: Workspace) -> dict[str, list[str]]:
    """Return the keys of rows of a workspace, and their names by parameter.

    The keys are those of the empty parameter. One of the kind that a list goes by is that of the
    list's route; one of the row that a parameter names is that of ``key:`` and its name.
    """
    of_conversation = {"conversation__workspace": workspace}
    question = Inquiry.objects.filter(**of_conversation).latest("pk")
    task = ReviewTask.objects.filter(**of_conversation).latest("pk")
    approval = Approval.objects.get(**of_conversation)
    bookmark = Bookmark.objects.get(**of_conversation)
    secret = SuspectedSecret.objects.get(**of_conversation)
    comment = Comment.objects.get(thread__conversation__workspace=workspace)
    entry = LedgerEntry.objects.filter(workspace_id=workspace.pk).latest("pk")
    people = workspace.memberships.values_list("person_id", flat=True)
    rows = (question, workspace, entry, task, approval, bookmark, secret, comment)
    keys = {task.conversation_id, *(row.pk for row in rows), people[0]}
    named_keys = {
        "key:conversation": task.conversation_id, "key:person": people[0],
        "key:workspace": workspace.pk, "key:list": workspace.pk, "key:audit": workspace.pk,
        "key:suggestion": secret.pk, "secrets": secret.pk, "bookmarks": bookmark.pk,
        "mentions": comment.pk, "ledger": entry.pk, "readers": entry.pk, "review-queue": task.pk,
    }  # fmt: skip
    waiting_names = [f"question-{question.pk}", f"approval-{approval.pk}"]
    return {
        "": [*map(str, keys)],
        "key:": [str(question.pk)],
        **{name: [str(key)] for name, key in named_keys.items()},
        "after": [f"{task.conversation_id}-{anchor}" for anchor in (task.anchor, question.anchor)],
        "at": [*waiting_names, f"{DecisionKind.UNATTENDED}-{question.anchor}", question.anchor],
        "from": [question.anchor],
        "in": [workspace.name],
        "tag": [*waiting_names, f"mention-{comment.pk}"],
    }


def choose_values(values: dict[str, list[str]], path: str, name: str) -> list[str]:
    """Return what a parameter of a list is tried with.

    Under proof these are keys of all kinds, which take 18 s of processor time; else one key of the
    kind that the parameter or the list goes by.
    """
    route = resolve(path.partition("?")[0]).url_name or ""
    own_keys = values.get(f"key:{name}") or values.get(route) or values["key:"]
    return [*(values[""] if IS_PROOF else own_keys), *values.get(name, ())]


def list_addresses(world: World) -> Iterator[tuple[str, str]]:
    """Yield the address of each list with a parameter, to which a value is appended."""
    paths = [(reverse(name), names) for name, names in _PARAMETERS.items()]
    paths += [
        (reverse(name, args=[world.conversation.pk]), names)
        for name, names in _CONVERSATION_PARAMETERS.items()
    ]
    event = [world.conversation.pk, world.anchor]
    paths += [
        (reverse("comments", args=event), _OTHER_PARAMETERS["comments"]),
        (reverse("event-redact", args=event), _OTHER_PARAMETERS["event-redact"]),
        (reverse("question", args=[world.question.pk]), _OTHER_PARAMETERS["question"]),
    ]
    for queue_name in ("assigned", "second", "disagreed", "escalated"):
        path = reverse("review-queue", args=[queue_name])
        paths.append((path, _OTHER_PARAMETERS["review-queue"]))
    for path, names in paths:
        yield from ((path, name) for name in names)
    yield from ((f"{reverse('audit')}?sort=outcome", name) for name in ("before", "at"))


def read(client: Client, path: str, name: str, value: str) -> tuple[int, bytes]:
    """Return the status and the content of a response, without tokens."""
    clear_limits()
    text = f"workspace={value}" if name in ("audit", "list") else value
    response = client.get(f"{path}{'&' if '?' in path else '?'}{urlencode({name: text})}")
    content = response.content + response.get("Location", "").encode()
    return response.status_code, _TOKEN.sub(b"", content)


def test_key_of_another_workspace_is_answered_as_a_missing_one(
    filled_world: World, monkeypatch: pytest.MonkeyPatch
):
    instant = clock.now()
    monkeypatch.setattr(clock, "now", lambda: instant)
    client = signed_in(filled_world.people["owner"])
    other_workspace = filled_world.other_workspace
    values = list_foreign_values(other_workspace)
    requests = [
        (path, name, value)
        for path, name in list_addresses(filled_world)
        for value in choose_values(values, path, name)
    ]
    answers = {request: read(client, *request) for request in requests}
    LedgerEntry.objects.filter(workspace_id=other_workspace.pk).delete()
    other_workspace.delete()
    filled_world.people["rival"].delete()
    differing_requests = [
        request for request in requests if read(client, *request) != answers[request]
    ]
    assert differing_requests == []


def test_all_parameters_of_addresses_are_tested_or_name_no_row():
    tables = (_PARAMETERS, _CONVERSATION_PARAMETERS, _OTHER_PARAMETERS)
    tested_names = {name for table in tables for names in table.values() for name in names}
    text = "".join(path.read_text() for path in sorted(_WEB.rglob("*.py")))
    read_names = set(re.findall(r'(?:GET|params)\.get(?:list)?\("([a-z_]+)"', text))
    assert read_names - tested_names == _PLAIN_NAMES
