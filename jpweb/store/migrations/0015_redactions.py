"""Adds the table of redactions."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from jpweb.store.database import clock


class Migration(migrations.Migration):
    dependencies: ClassVar = [("store", "0014_reviews")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Redaction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("anchor", models.CharField(max_length=60)),
                ("reason", models.CharField(max_length=200)),
                ("at", models.DateTimeField(default=clock.now)),
                ("key", models.CharField(max_length=64)),
                (
                    "digest_before",
                    models.CharField(help_text="HMAC-SHA-256 of what stood there", max_length=64),
                ),
                (
                    "digest_after",
                    models.CharField(help_text="HMAC-SHA-256 of what replaced it", max_length=64),
                ),
                ("text", models.TextField(blank=True, help_text="what replaced it")),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="redactions",
                        to="store.conversation",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="redactions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["conversation", "anchor", "id"], name="redactions_by_event"
                    )
                ]
            },
        )
    ]
