"""Bind the user-local copies of each id to the workspace that was first seen with it."""

from typing import Any

from django.db import migrations, models


def bind_first_seen(apps: Any, schema_editor: Any) -> None:
    Workspace = apps.get_model("store", "Workspace")
    rows = Workspace.objects.using(schema_editor.connection.alias)
    seen = set()
    for workspace in rows.order_by("added_at", "pk"):
        if workspace.jp_id not in seen:
            seen.add(workspace.jp_id)
            workspace.copies_id = workspace.jp_id
            workspace.save(update_fields=["copies_id"])


class Migration(migrations.Migration):
    dependencies = [("store", "0007_unanswered_questions")]

    operations = [
        migrations.AddField(
            model_name="workspace",
            name="copies_id",
            field=models.CharField(
                blank=True,
                default="",
                help_text="the id whose user-local copies are bound to this root",
                max_length=16,
            ),
        ),
        migrations.RunPython(bind_first_seen, migrations.RunPython.noop),
    ]
