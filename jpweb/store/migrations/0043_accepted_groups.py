"""People accept a group before it lets them in; those who are in one already have accepted it."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def accept_groups(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    groups = apps.get_model('store', 'Group').objects.using(alias).filter(pk=OuterRef('group_id'))
    members = apps.get_model('store', 'GroupMember').objects.using(alias)
    members.filter(accepted_at=None).update(accepted_at=Subquery(groups.values('made_at')))


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0042_links_and_owners'),
    ]

    operations = [
        migrations.AddField(
            model_name='groupmember',
            name='accepted_at',
            field=models.DateTimeField(help_text='null: not accepted yet', null=True),
        ),
        migrations.AddField(
            model_name='groupmember',
            name='inviter',
            field=models.ForeignKey(help_text='who added the person; null: unknown', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='group_members_added', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(accept_groups, migrations.RunPython.noop),
    ]
