"""Migrations on tables that hold rows; ``tests/installing/test_upgrade.py`` compares pages."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from jpweb.store.backups.schemas import get_newest_migration
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry, Review, ReviewTask
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.machine.suite.migrations import rendering_less
from tests.store import making

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEFORE_NAMES = "0010_heartbeats"


def migrate(name: str) -> Any:
    """Migrate the store; return its models as they are then."""
    executor = MigrationExecutor(connection)
    with rendering_less():
        executor.migrate([("store", name)])
        return executor.loader.project_state([("store", name)]).apps


@pytest.fixture
def earlier_models(transactional_db: None) -> Iterator[Any]:
    """Return the models of before the new names, with empty tables."""
    try:
        yield migrate(BEFORE_NAMES)
    finally:
        migrate(get_newest_migration())


def fill(apps: Any) -> None:
    """Insert a row into each table that has a new name, or a column with one."""

    def add(model: str, **values: Any) -> Any:
        return apps.get_model("store", model).objects.create(**values)

    person = add("Person", username="ada")
    workspace = add("Workspace", name="Garden", root="/garden", added_at=AT)
    conversation = add(
        "Conversation", workspace=workspace, jp_id=1, origin="native", last_activity=AT, gone_at=AT,
        length=7, accounts={"call": 3}, placed=2, unindexed=False, indexed_length=5,
    )  # fmt: skip
    add(
        "JournalEntry",
        conversation=conversation,
        position=4,
        text="{}",
        kind="x",
        head=3,
        facet="call",
    )
    add("Turn", conversation=conversation, number=0, position=0, words="Hello")
    add(
        "Passage", id=9, conversation=conversation, position=4, part=0, head=3, facet="call", at=AT,
        body="word", tags="w1",
    )  # fmt: skip
    run = add(
        "Run", conversation=conversation, provider="scripted", deaths=2, resumed=6, started_at=AT,
        left_by="worker\n",
    )  # fmt: skip
    inquiry = add(
        "Inquiry", conversation=conversation, anchor="e-1", position=4, inquiry_id="a.b",
        source="tool", asker="vault", question={}, answer_type="boolean", state="open",
        asked_at=AT, alike="same",
    )  # fmt: skip
    gate = add(
        "Prompt", conversation=conversation, run=run, kind="run", tool_call_id="c", tool_name="n",
        shown={"content": "x"}, spent=True, asked_at=AT, decider=person,
    )  # fmt: skip
    address = add("Address", person=person, workspace=workspace, url="u", delay=5, added_at=AT)
    add("Notice", address=address, prompt=gate, sent_at=AT)
    add("Notice", address=address, inquiry=inquiry, sent_at=AT)
    add("Showing", inquiry=inquiry, person=person, delivered_at=AT)
    add("Duty", name="n", holder="h", lease_until=AT)
    add("Interruption", run=run, kind="stop", said_at=AT, taken_at=AT, person=person)
    add("KeptResult", run=run, tool_call_id="c", is_error=False, delivered=True, again=True)
    add("Reading", person=person, conversation=conversation, length=6, at=AT)


#: Rows of the new tables, by columns that have a new name or point to such a table.
EXPECTED: dict[str, dict[str, Any]] = {
    "Conversation": {
        "entry_count": 7, "category_counts": {"call": 3}, "derived_version": 2, "removed_at": AT,
        "needs_indexing": True, "indexed_entry_count": 0,  # 0028 has it indexed again
    },
    "JournalEntry": {"item_position": 3, "category": "call"},
    "Turn": {"title": "Hello"},
    "Passage": {"item_position": 3, "category": "call"},
    "Run": {"death_count": 2, "resume_count": 6, "expired_holders": "worker\n"},
    "Inquiry": {"same_question_key": "same"},
    "Approval": {
        "decider__username": "ada", "run__provider": "scripted", "subject": {"content": "x"},
        "was_applied": True,
    },
    "NotificationDestination": {"delay": 5, "person__username": "ada"},
    "DisplayReceipt": {"delivered_at": AT, "inquiry__anchor": "e-1"},
    "TaskLease": {"holder": "h"},
    "RunInterrupt": {"sent_at": AT, "handled_at": AT, "run__death_count": 2},
    "CallCheckpoint": {"was_cut_off": True, "run__death_count": 2},
    "ReadMark": {"entry_count": 6, "conversation__entry_count": 7},
}  # fmt: skip


@pytest.fixture
def models_before_consent(transactional_db: None) -> Iterator[Any]:
    """Return the models of before people accepted groups, with empty tables."""
    migration = importlib.import_module("jpweb.store.migrations.0043_accepted_groups").Migration
    try:
        yield migrate(migration.dependencies[0][1])
    finally:
        migrate(get_newest_migration())


@pytest.mark.proof  # tests/store/people/test_group_consent.py calls its function
def test_migration_accepts_groups_for_their_earlier_members(models_before_consent: Any):
    person = models_before_consent.get_model("store", "Person").objects.create(username="ada")
    group = models_before_consent.get_model("store", "Group").objects.create(name="x", made_at=AT)
    members = models_before_consent.get_model("store", "GroupMember").objects
    members.create(group=group, person=person)
    row = migrate(get_newest_migration()).get_model("store", "GroupMember").objects.get()
    assert (row.person_id, row.accepted_at, row.inviter_id) == (person.pk, AT, None)


@pytest.mark.proof  # 9 s of processor time; tests/installing brings old data up to date too
def test_new_names_of_tables_and_columns_keep_the_rows(earlier_models: Any):
    fill(earlier_models)
    apps = migrate(get_newest_migration())
    for model, values in EXPECTED.items():
        assert [*apps.get_model("store", model).objects.values(*values)] == [values]
    deliveries = apps.get_model("store", "NotificationDelivery").objects.order_by("id")
    relations = ("destination__url", "approval__tool_name", "inquiry__anchor")
    assert [*deliveries.values_list(*relations)] == [("u", "n", None), ("u", None, "e-1")]


@pytest.mark.proof  # an old name of an index slows nothing and breaks nothing
def test_renamed_columns_leave_no_constraint_or_index_of_the_old_name(earlier_models: Any):
    migrate(get_newest_migration())
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, "store_journalentry")
    columns = {
        column for constraint in constraints.values() for column in constraint["columns"] or ()
    }
    assert {"item_position", "category"} <= columns
    assert not [name for name in constraints if "head" in name or "facet" in name]


@pytest.mark.django_db
def test_migration_passes_verdicts_that_escalate_to_the_owners():
    migration = importlib.import_module("jpweb.store.migrations.0042_links_and_owners")
    conversation = making.conversation(making.workspace())
    verdicts = {
        "e-alone": (1, "done", ["escalate"]),
        "e-blind": (2, "partial", ["escalate"]),
        "e-both": (2, "disagreed", ["escalate", "fine"]),
        "e-fine": (1, "done", ["fine"]),
    }
    for anchor, (required, state, verdict_list) in verdicts.items():
        ReviewTask.objects.create(conversation=conversation, anchor=anchor, state=state)
        for number, verdict in enumerate(verdict_list, start=1):
            Review.objects.create(
                conversation=conversation, anchor=anchor, version="v", round=number, revision=1,
                rounds_required=required, verdict=verdict, reviewed_at=AT,
                reviewer_name=f"reviewer {number}",
            )  # fmt: skip
    migration.escalate_tasks(apps, SimpleNamespace(connection=connection))
    states = dict(ReviewTask.objects.values_list("anchor", "state"))
    assert states == {
        "e-alone": "escalated", "e-blind": "partial", "e-both": "escalated", "e-fine": "done",
    }  # fmt: skip


class DeliveredQuestion:
    """A question that was sent to a channel and to a browser of a person, in an earlier schema."""

    def __init__(self, apps: Any) -> None:
        def add(model: str, **values: Any) -> Any:
            return apps.get_model("store", model).objects.create(**values)

        self.person = add("Person", username="ada")
        workspace = add("Workspace", name="Garden", root="/garden", added_at=AT)
        conversation = add(
            "Conversation", workspace=workspace, jp_id=1, origin="native", last_activity=AT
        )
        self.inquiry = inquiry = add(
            "Inquiry", conversation=conversation, anchor="e-1", position=4, inquiry_id="a.b",
            source="tool", asker="vault", question={}, answer_type="boolean", state="open",
            asked_at=AT, workspace=workspace,
        )  # fmt: skip
        self.destination = add(
            "NotificationDestination", person=self.person, workspace=workspace, url="u", delay=5
        )
        sign_in = add("SignIn", key_hash="h", data="", person=self.person, expires_at=AT)
        self.browser = add(
            "PushSubscription", person=self.person, sign_in=sign_in, endpoint="e",
            endpoint_hash="h", delay=5,
        )  # fmt: skip
        add("NotificationDelivery", destination=self.destination, inquiry=inquiry, sent_at=AT)
        add("PushDelivery", subscription=self.browser, inquiry=inquiry, sent_at=AT, problem="gone")


@pytest.mark.proof  # three migrations that nobody edits; test_upgrade.py has all migrations run
def test_deliveries_are_kept_with_their_person_and_snoozes_get_a_number(transactional_db: None):
    """Migrating back and forth takes 2 s of processor time: one scene for three migrations."""
    try:
        scene = DeliveredQuestion(migrate("0047_positions_of_calls"))
        add_returned_messages(scene, migrate("0048_returns_of_questions"))
        apps = migrate(get_newest_migration())
        check_deliveries(scene, apps.get_model("store", "NotificationDelivery").objects)
        check_messages_and_snoozes(scene, apps)
    finally:
        migrate(get_newest_migration())


def add_returned_messages(scene: DeliveredQuestion, apps: Any) -> None:
    """Send the question to the browser again, and to the channel; have two people snooze it."""
    inquiry = apps.get_model("store", "Inquiry").objects.get()
    for model, receiver in (
        ("NotificationDelivery", {"destination_id": scene.destination.pk}),
        ("PushDelivery", {"subscription_id": scene.browser.pk}),
    ):
        rows = apps.get_model("store", model).objects
        first = rows.get()
        assert (first.inquiry_id, first.sent_at, first.return_number) == (inquiry.pk, AT, 0)
        rows.create(**receiver, inquiry=inquiry, sent_at=AT, return_number=1)
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.create(**receiver, inquiry=inquiry, sent_at=AT, return_number=1)
    apps.get_model("store", "Person").objects.create(username="eve")
    for person in apps.get_model("store", "Person").objects.all():
        apps.get_model("store", "QuestionSnooze").objects.create(
            person=person, inquiry=inquiry, until=AT
        )


def check_deliveries(scene: DeliveredQuestion, deliveries: Any) -> None:
    columns = deliveries.order_by("pk").values_list("inquiry", "sent_at", "return_number")
    assert list(columns) == [(scene.inquiry.pk, AT, 0), (scene.inquiry.pk, AT, 1)]
    receiver = {"inquiry_id": scene.inquiry.pk, "destination_id": scene.destination.pk}
    with pytest.raises(IntegrityError), transaction.atomic():
        deliveries.create(**receiver, return_number=1)


def check_messages_and_snoozes(scene: DeliveredQuestion, apps: Any) -> None:
    messages = apps.get_model("store", "PushDelivery").objects
    columns = messages.order_by("pk").values_list("person", "subscription", "return_number")
    person_id, browser_id = scene.person.pk, scene.browser.pk
    assert list(columns) == [(person_id, browser_id, 0), (person_id, browser_id, 1)]
    assert (messages.get(return_number=0).sent_at, messages.first().problem) == (AT, "gone")
    receiver = {"subscription_id": browser_id, "person_id": person_id}
    with pytest.raises(IntegrityError), transaction.atomic():
        messages.create(**receiver, inquiry_id=scene.inquiry.pk, return_number=1)
    snoozes = apps.get_model("store", "QuestionSnooze").objects
    numbers = snoozes.order_by("pk").values_list("person__username", "return_number")
    assert list(numbers) == [("ada", 2), ("eve", 1)]
    apps.get_model("store", "SignIn").objects.all().delete()
    columns = messages.order_by("pk").values_list("person", "subscription", "return_number")
    assert list(columns) == [(person_id, None, 0), (person_id, None, 1)]


@pytest.mark.django_db
def test_migration_fills_the_channel_of_earlier_answers():
    migration = importlib.import_module("jpweb.store.migrations.0042_links_and_owners")
    run = making.start_run(making.conversation(making.workspace()))
    row, other = making.question(run), making.question(run)
    making.settle(row, Answered("Yes"), Decider("person", "Ada", channel="notification"))
    making.settle(other, Answered("channel"), Decider("person", "Ada"))
    Inquiry.objects.update(channel="")
    migration.fill_channels(apps, SimpleNamespace(connection=connection))
    channels = Inquiry.objects.order_by("pk").values_list("channel", flat=True)
    assert list(channels) == ["notification", ""]


@pytest.mark.django_db
def test_migration_fills_the_reply_channel_of_interrupted_questions():
    migration = importlib.import_module("jpweb.store.migrations.0045_reply_channel")
    run = making.start_run(making.conversation(making.workspace()))
    interrupted, declined = making.question(run), making.question(run)
    stopped = Cancelled(CancellationReason.USER)
    making.settle(interrupted, stopped, note="Leave it.", replied=True)
    making.settle(declined, stopped, note='"replied"')
    Inquiry.objects.update(channel="")
    migration.fill_channels(apps, SimpleNamespace(connection=connection))
    channels = Inquiry.objects.order_by("pk").values_list("channel", flat=True)
    assert list(channels) == ["reply", ""]
