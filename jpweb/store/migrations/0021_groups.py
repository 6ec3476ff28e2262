"""Groups with their members and roles; each membership's own role beside the one that results."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from jpweb.store.choices import Role
from jpweb.store.database import clock


def copy_roles(apps: Any, editor: Any) -> None:
    """Until now each role was given to the person directly."""
    rows = apps.get_model('store', 'Membership').objects.using(editor.connection.alias)
    rows.update(direct_role=models.F('role'))


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0020_audit_desk'),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name='membership',
            name='direct_role',
            field=models.PositiveSmallIntegerField(
                choices=Role.choices,
                null=True,
                help_text='null: only groups give this person a role',
            ),
        ),
        migrations.RunPython(copy_roles, migrations.RunPython.noop),
        migrations.CreateModel(
            name='Group',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                ('name', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField(default=clock.now)),
                (
                    'maker',
                    models.ForeignKey(
                        help_text='manages it while it has no role in any workspace',
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name='groups_made',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name='GroupMember',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                (
                    'group',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='members',
                        to='store.group',
                    ),
                ),
                (
                    'person',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='group_memberships',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('group', 'person'), name='once_in_a_group')
                ],
            },
        ),
        migrations.CreateModel(
            name='GroupRole',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                ('role', models.PositiveSmallIntegerField(choices=Role.choices)),
                (
                    'group',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='roles',
                        to='store.group',
                    ),
                ),
                (
                    'workspace',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='group_roles',
                        to='store.workspace',
                    ),
                ),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(
                        fields=('group', 'workspace'), name='one_group_role_a_workspace'
                    )
                ],
            },
        ),
    ]
