"""Every inquiry names its workspace, so that the audit reads each workspace as an index range.

The column and its indexes change in the next migration: PostgreSQL changes no table that has
written rows with deferred constraints in the same transaction.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0022_identities'),
    ]

    operations: ClassVar = [
        migrations.RunSQL(
            'UPDATE store_inquiry SET workspace_id = (SELECT workspace_id FROM store_conversation'
            ' WHERE store_conversation.id = store_inquiry.conversation_id)'
            ' WHERE workspace_id IS NULL',
            migrations.RunSQL.noop,
        ),
    ]
