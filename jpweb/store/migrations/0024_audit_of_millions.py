"""Indexes of the audit's filters and orders in each workspace, instead of those over all."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

from jpweb.store.sql.byte_order import ByteOrder
from jpweb.store.sql.waiting_time import WaitingMilliseconds


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0023_workspaces_of_inquiries'),
    ]

    operations: ClassVar = [
        migrations.RemoveIndex(
            model_name='inquiry',
            name='store_inqui_workspa_1e70b3_idx',
        ),
        migrations.RemoveIndex(
            model_name='inquiry',
            name='inquiries_by_asker',
        ),
        migrations.RemoveIndex(
            model_name='inquiry',
            name='inquiries_by_state',
        ),
        migrations.RemoveIndex(
            model_name='inquiry',
            name='inquiries_by_decider',
        ),
        migrations.RemoveIndex(
            model_name='inquiry',
            name='inquiries_by_waiting_time',
        ),
        migrations.AlterField(
            model_name='inquiry',
            name='conversation',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='inquiries', to='store.conversation'),
        ),
        migrations.AlterField(
            model_name='inquiry',
            name='workspace',
            field=models.ForeignKey(db_index=False, help_text='that of the conversation', on_delete=django.db.models.deletion.CASCADE, related_name='inquiries', to='store.workspace'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'asked_at', 'id'], name='audit_by_time'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'conversation', 'asked_at', 'id'], name='audit_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'state', 'asked_at', 'id'], name='audit_of_state'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'asker', 'asked_at', 'id'], name='audit_of_asker'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'reason', 'asked_at', 'id'], name='audit_of_reason'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'source', 'asked_at', 'id'], name='audit_of_source'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['workspace', 'decider_name', 'asked_at', 'id'], name='audit_of_decider'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(models.F('workspace'), ByteOrder('state'), models.F('id'), name='audit_by_state'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(models.F('workspace'), ByteOrder('asker'), models.F('id'), name='audit_by_asker'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(models.F('workspace'), ByteOrder('decider_name'), models.F('id'), name='audit_by_decider'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(models.F('workspace'), WaitingMilliseconds('settled_at', 'asked_at'), models.F('id'), name='audit_by_waiting_time'),
        ),
    ]
