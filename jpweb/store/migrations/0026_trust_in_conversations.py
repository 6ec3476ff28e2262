"""Trust that holds in one conversation, for what it stores of its own."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0025_second_factors'),
    ]

    operations: ClassVar = [
        migrations.RemoveConstraint(model_name='trust', name='one_trust_a_thing'),
        migrations.AddField(
            model_name='trust',
            name='conversation',
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name='trusted',
                to='store.conversation',
            ),
        ),
        migrations.AddConstraint(
            model_name='trust',
            constraint=models.UniqueConstraint(
                condition=models.Q(('conversation__isnull', True)),
                fields=('workspace', 'kind', 'name'),
                name='one_trust_a_thing',
            ),
        ),
        migrations.AddConstraint(
            model_name='trust',
            constraint=models.UniqueConstraint(
                condition=models.Q(('conversation__isnull', False)),
                fields=('conversation', 'kind', 'name'),
                name='one_trust_a_thing_there',
            ),
        ),
    ]
