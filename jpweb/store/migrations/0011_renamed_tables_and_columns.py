"""Tables and columns get the names that code and documents use. No row of a large table is written.

Measured with a million journal entries: PostgreSQL changes its catalog alone; SQLite also builds
the two indexes of entries again, since it cannot rename an index.
"""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

#: Old and new name of each model, and so of its table.
MODELS = (
    ("Showing", "DisplayReceipt"),
    ("Address", "NotificationDestination"),
    ("Prompt", "Approval"),
    ("Notice", "NotificationDelivery"),
    ("Duty", "TaskLease"),
    ("Interruption", "RunInterrupt"),
    ("KeptResult", "CallCheckpoint"),
    ("Reading", "ReadMark"),
)
#: Model, old name, new name of each column that is no foreign key.
COLUMNS = (
    ("conversation", "length", "entry_count"),
    ("conversation", "accounts", "category_counts"),
    ("conversation", "placed", "derived_version"),
    ("conversation", "gone_at", "removed_at"),
    ("conversation", "unindexed", "needs_indexing"),
    ("conversation", "indexed_length", "indexed_entry_count"),
    ("journalentry", "head", "item_position"),
    ("journalentry", "facet", "category"),
    ("turn", "words", "title"),
    ("passage", "head", "item_position"),
    ("passage", "facet", "category"),
    ("inquiry", "alike", "same_question_key"),
    ("run", "deaths", "death_count"),
    ("run", "resumed", "resume_count"),
    ("readmark", "length", "entry_count"),
    ("runinterrupt", "said_at", "sent_at"),
    ("runinterrupt", "taken_at", "handled_at"),
    ("callcheckpoint", "again", "was_cut_off"),
)
#: Model, old name, and the index as it is now, of each index that has a renamed column.
INDEXES = (
    (
        "conversation",
        "conversations_to_index",
        models.Index(
            fields=["last_activity", "id"],
            condition=models.Q(needs_indexing=True),
            name="conversations_to_index",
        ),
    ),
    (
        "conversation",
        "conversations_by_length",
        models.Index(
            fields=["workspace", "archived", "entry_count", "id"],
            name="conversations_by_entry_count",
        ),
    ),
    (
        "inquiry",
        "store_inqui_alike_8528b6_idx",
        models.Index(
            fields=["same_question_key", "-settled_at"], name="store_inqui_same_qu_2d4036_idx"
        ),
    ),
    (
        "journalentry",
        "journal_by_head",
        models.Index(fields=["conversation", "item_position"], name="journal_by_item"),
    ),
    (
        "journalentry",
        "journal_by_facet",
        models.Index(
            fields=["conversation", "category", "item_position"], name="journal_by_category"
        ),
    ),
)


class RenameColumn(migrations.RenameField):
    """Renames a column, and on PostgreSQL its CHECK constraint.

    Django would replace the constraint, which reads every row under an exclusive lock.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            model = from_state.apps.get_model(app_label, self.model_name)
            _rename_column(schema_editor, model, self.old_name, self.new_name)
        else:
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            model = from_state.apps.get_model(app_label, self.model_name)
            _rename_column(schema_editor, model, self.new_name, self.old_name)
        else:
            super().database_backwards(app_label, schema_editor, from_state, to_state)


def _rename_column(schema_editor: Any, model: Any, old_name: str, new_name: str) -> None:
    table, quote = model._meta.db_table, schema_editor.quote_name
    checks = schema_editor._constraint_names(model, [old_name], check=True)
    schema_editor.execute(
        f"ALTER TABLE {quote(table)} RENAME COLUMN {quote(old_name)} TO {quote(new_name)}"
    )
    for check in checks:
        new_check = f"{table}_{new_name}_check"
        schema_editor.execute(
            f"ALTER TABLE {quote(table)} RENAME CONSTRAINT {quote(check)} TO {quote(new_check)}"
        )


class RenameIndexes(migrations.SeparateDatabaseAndState):
    """Renames the indexes whose columns were renamed before, which they have followed."""

    def __init__(self) -> None:
        super().__init__(
            state_operations=[migrations.AddIndex(model, index) for model, _, index in INDEXES]
        )

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return self.__class__.__name__, [], {}

    def database_forwards(
        self, app_label: str, schema_editor: Any, _from_state: Any, to_state: Any
    ) -> None:
        for model_name, old_name, index in INDEXES:
            model = to_state.apps.get_model(app_label, model_name)
            _rename_index(schema_editor, model, _rename(index, old_name), index)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, _to_state: Any
    ) -> None:
        for model_name, old_name, index in INDEXES:
            model = from_state.apps.get_model(app_label, model_name)
            _rename_index(schema_editor, model, index, _rename(index, old_name))


def _rename_index(schema_editor: Any, model: Any, old: models.Index, new: models.Index) -> None:
    if old.name != new.name:
        schema_editor.rename_index(model, old, new)


def _rename(index: models.Index, name: str) -> models.Index:
    renamed = index.clone()
    renamed.name = name
    return renamed


def _relation(model: str, related_name: str, on_delete: Any, **options: Any) -> Any:
    return models.ForeignKey(on_delete=on_delete, related_name=related_name, to=model, **options)


_CASCADE, _SET_NULL = django.db.models.deletion.CASCADE, django.db.models.deletion.SET_NULL
_PERSON = settings.AUTH_USER_MODEL
#: Relations with a new name on the other side, and columns with another help text; the tables are
#: not touched.
FIELDS = (
    ("displayreceipt", "inquiry", _relation("store.inquiry", "display_receipts", _CASCADE)),
    ("displayreceipt", "person", _relation(_PERSON, "display_receipts", _CASCADE)),
    (
        "notificationdestination",
        "person",
        _relation(_PERSON, "notification_destinations", _CASCADE),
    ),
    (
        "notificationdestination",
        "workspace",
        _relation("store.workspace", "notification_destinations", _CASCADE),
    ),
    (
        "notificationdelivery",
        "destination",
        _relation("store.notificationdestination", "notification_deliveries", _CASCADE),
    ),
    (
        "notificationdelivery",
        "inquiry",
        _relation("store.inquiry", "notification_deliveries", _CASCADE, null=True),
    ),
    (
        "notificationdelivery",
        "approval",
        _relation("store.approval", "notification_deliveries", _CASCADE, null=True),
    ),
    ("approval", "conversation", _relation("store.conversation", "approvals", _CASCADE)),
    ("approval", "run", _relation("store.run", "approvals", _CASCADE)),
    ("approval", "decider", _relation(_PERSON, "approvals", _SET_NULL, null=True)),
    (
        "approval",
        "workspace",
        _relation("store.workspace", "approvals", _CASCADE, null=True, db_index=False),
    ),
    ("runinterrupt", "run", _relation("store.run", "interrupts", _CASCADE)),
    ("runinterrupt", "person", _relation(_PERSON, "interrupts", _SET_NULL, null=True)),
    ("callcheckpoint", "run", _relation("store.run", "checkpoints", _CASCADE)),
    (
        "conversation",
        "category_counts",
        models.JSONField(default=dict, help_text="journal entries by category"),
    ),
    (
        "conversation",
        "derived_version",
        models.PositiveSmallIntegerField(default=0, help_text="which version derived columns"),
    ),
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("store", "0010_heartbeats")]

    operations: ClassVar = [
        migrations.RemoveConstraint("showing", "one_showing_a_person"),
        migrations.RemoveConstraint("notice", "one_notice_a_question_and_address"),
        migrations.RemoveConstraint("notice", "one_notice_a_prompt_and_address"),
        migrations.RemoveConstraint("reading", "one_reading_a_person"),
        *(migrations.RenameModel(*names) for names in MODELS),
        migrations.AlterModelTable("readmark", "store_readmark"),
        migrations.RenameField("notificationdelivery", "address", "destination"),
        migrations.RenameField("notificationdelivery", "prompt", "approval"),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveIndex(model, name) for model, name, _ in INDEXES]
        ),
        *(RenameColumn(*names) for names in COLUMNS),
        RenameIndexes(),
        *(migrations.AlterField(*names_and_field) for names_and_field in FIELDS),
        migrations.RenameIndex("readmark", "read_marks_by_time", "readings_by_time"),
        migrations.RenameIndex(
            "approval", "store_appro_state_6d4782_idx", "store_promp_state_a27194_idx"
        ),
        migrations.RenameIndex(
            "approval", "store_appro_workspa_a76996_idx", "store_promp_workspa_c445a1_idx"
        ),
        migrations.AddConstraint(
            "displayreceipt",
            models.UniqueConstraint(fields=["inquiry", "person"], name="one_receipt_a_person"),
        ),
        migrations.AddConstraint(
            "notificationdelivery",
            models.UniqueConstraint(
                fields=["destination", "inquiry"], name="one_delivery_a_question_and_destination"
            ),
        ),
        migrations.AddConstraint(
            "notificationdelivery",
            models.UniqueConstraint(
                fields=["destination", "approval"],
                name="one_delivery_an_approval_and_destination",
            ),
        ),
        migrations.AddConstraint(
            "readmark",
            models.UniqueConstraint(
                fields=["person", "conversation"], name="one_read_mark_a_person"
            ),
        ),
    ]
