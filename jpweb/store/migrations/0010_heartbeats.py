"""Heartbeats of processes, and times by the database's clock."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

from jpweb.store.database import clock

#: Columns whose default is the database's clock from now on; nothing in the tables changes.
CLOCKS = (
    ("address", "added_at"),
    ("answerlink", "created_at"),
    ("invitation", "created_at"),
    ("interruption", "said_at"),
    ("notice", "sent_at"),
    ("prompt", "asked_at"),
    ("run", "started_at"),
    ("signin", "began_at"),
    ("signinlink", "created_at"),
    ("trust", "trusted_at"),
    ("workspace", "added_at"),
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("store", "0009_sign_ins_and_invitations")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("process", models.CharField(max_length=150, unique=True)),
                ("seen_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="left_by",
            field=models.TextField(
                blank=True,
                default="",
                help_text="processes whose lease ran out since it last got anywhere, a line each",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model, name=name, field=models.DateTimeField(default=clock.now)
                )
                for model, name in CLOCKS
            ]
            + [
                migrations.AlterField(
                    model_name="signin",
                    name="seen_at",
                    field=models.DateTimeField(default=clock.now, help_text="the last request"),
                )
            ]
        ),
    ]
