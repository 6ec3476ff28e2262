"""Indexes that list decisions of all kinds by time."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0017_evidence'),
    ]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['-settled_at', '-id'], name='approvals_by_settlement'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['-settled_at', '-id'], name='inquiries_by_settlement'),
        ),
        migrations.AddIndex(
            model_name='ledgerentry',
            index=models.Index(fields=['act', '-at', '-id'], name='ledger_by_act'),
        ),
    ]
