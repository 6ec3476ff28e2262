"""Indexes of the decisions in a transcript, and of the orders of the audit table; saved views."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

from jpweb.store.sql.waiting_time import WaitingMilliseconds


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0019_suspected_secrets'),
    ]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(fields=['conversation', 'asked_at'], name='approvals_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['asker', 'id'], name='inquiries_by_asker'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['state', 'id'], name='inquiries_by_state'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['decider_name', 'id'], name='inquiries_by_decider'),
        ),
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(
                WaitingMilliseconds('settled_at', 'asked_at'),
                'id',
                name='inquiries_by_waiting_time',
            ),
        ),
        migrations.AddField(
            model_name='savedsearch',
            name='page',
            field=models.CharField(
                choices=[('search', 'Search'), ('audit', 'Audit'), ('decisions', 'Decisions')],
                db_default='search',
                default='search',
                max_length=20,
            ),
        ),
        migrations.RemoveConstraint(model_name='savedsearch', name='one_search_a_name'),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=models.UniqueConstraint(
                fields=['person', 'page', 'name'], name='one_view_a_name'
            ),
        ),
    ]
