"""The ledger: its entries and its signed head."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ('store', '0011_renamed_tables_and_columns'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='LedgerHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveBigIntegerField(default=0, help_text='of the last sealed entry')),
                ('chain_hash', models.CharField(max_length=64)),
                ('signed_at', models.DateTimeField(null=True)),
                ('public_key', models.CharField(blank=True, max_length=64)),
                ('signature', models.CharField(blank=True, max_length=128)),
            ],
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.PositiveBigIntegerField(help_text='counts from 1', null=True, unique=True)),
                ('text_hash', models.CharField(max_length=64)),
                ('chain_hash', models.CharField(blank=True, max_length=64)),
                ('text', models.TextField()),
                ('act', models.CharField(help_text='a value of Act', max_length=30)),
                ('at', models.DateTimeField()),
                ('person_id', models.BigIntegerField(help_text='who acted, if a person', null=True)),
                ('workspace_id', models.BigIntegerField(null=True)),
                ('conversation_id', models.BigIntegerField(null=True)),
                ('subject', models.CharField(blank=True, help_text='such as inquiry:7', max_length=100)),
            ],
            options={
                'db_table': 'store_ledgerentry',
                'indexes': [models.Index(condition=models.Q(('sequence__isnull', True)), fields=['id'], name='ledger_entries_to_seal'), models.Index(fields=['workspace_id', '-id'], name='ledger_by_workspace'), models.Index(fields=['conversation_id', '-id'], name='ledger_by_conversation'), models.Index(fields=['subject', '-id'], name='ledger_by_subject'), models.Index(fields=['person_id', 'act', '-id'], name='ledger_by_person')],
            },
        ),
    ]
