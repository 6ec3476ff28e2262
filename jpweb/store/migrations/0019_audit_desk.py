"""Indexes of the decisions in a transcript."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0018_audit_views'),
    ]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['conversation', 'asked_at'], name='approvals_of_conversation'),
        ),
    ]
