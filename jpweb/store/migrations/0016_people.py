"""Adds the role "auditor only" to the choices; no row is rewritten."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

_ROLES = [
    (10, "reader"),
    (15, "auditor only"),
    (20, "responder"),
    (30, "auditor"),
    (40, "owner"),
]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("store", "0015_redactions")]

    operations: ClassVar = [
        migrations.AlterField("invitation", "role", models.PositiveSmallIntegerField(choices=_ROLES)),
        migrations.AlterField("membership", "role", models.PositiveSmallIntegerField(choices=_ROLES)),
    ]
