"""Passkeys, which sign people in, and second factors of sign-in links."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from jpweb.store.database import clock


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0024_audit_of_millions'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='Passkey',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                ('handle', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=100)),
                (
                    'credential_hash',
                    models.CharField(
                        help_text="SHA-256 of the credential's id", max_length=64, unique=True
                    ),
                ),
                (
                    'credential',
                    models.TextField(
                        help_text='AttestedCredentialData in base64: id and public key'
                    ),
                ),
                (
                    'sign_count',
                    models.BigIntegerField(help_text='of the last use; 0 where it counts none'),
                ),
                ('is_own', models.BooleanField(default=False)),
                ('added_at', models.DateTimeField(default=clock.now)),
                ('used_at', models.DateTimeField(null=True)),
                (
                    'person',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='passkeys',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                (
                    'sealed_secret',
                    models.TextField(help_text="opened by the installation's secret key alone"),
                ),
                (
                    'confirmed_at',
                    models.DateTimeField(help_text='null: not turned on yet', null=True),
                ),
                (
                    'last_step',
                    models.BigIntegerField(
                        default=0, help_text='time step of the last accepted code'
                    ),
                ),
                ('failure_count', models.PositiveSmallIntegerField(default=0)),
                ('lock_count', models.PositiveSmallIntegerField(default=0)),
                ('locked_until', models.DateTimeField(null=True)),
                (
                    'person',
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='second_factor',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                (
                    'id',
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name='ID'
                    ),
                ),
                ('code_hash', models.CharField(max_length=64)),
                ('used_at', models.DateTimeField(null=True)),
                (
                    'second_factor',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name='recovery_codes',
                        to='store.secondfactor',
                    ),
                ),
            ],
        ),
    ]
