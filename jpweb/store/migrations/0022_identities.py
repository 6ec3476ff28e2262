"""Identities at OpenID Connect providers, which sign people in."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from jpweb.store.database import clock


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0021_groups'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='Identity',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                ('issuer', models.CharField(max_length=200)),
                ('subject', models.CharField(max_length=255)),
                (
                    'email',
                    models.CharField(
                        blank=True, help_text='verified; as it was last told', max_length=254
                    ),
                ),
                ('is_own', models.BooleanField(default=False)),
                ('connected_at', models.DateTimeField(default=clock.now)),
                ('used_at', models.DateTimeField(null=True)),
                (
                    'person',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='identities',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(
                        fields=('issuer', 'subject'), name='one_person_an_identity'
                    )
                ],
            },
        ),
    ]
