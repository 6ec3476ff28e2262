"""The ledger's Merkle tree, and conversations that were imported from a bundle."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ('store', '0016_people'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='LedgerTile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveBigIntegerField(help_text='counts from 0', unique=True)),
                ('node_hash', models.CharField(max_length=64)),
            ],
        ),
        migrations.AlterField(
            model_name='conversation',
            name='origin',
            field=models.CharField(choices=[('mirrored', 'Mirrored'), ('native', 'Native'), ('imported', 'Imported')], max_length=10),
        ),
        migrations.AddField(
            model_name='ledgerhead',
            name='frontier',
            field=models.JSONField(default=list, help_text='complete subtrees, largest first; none: signed before the tree'),
        ),
    ]
