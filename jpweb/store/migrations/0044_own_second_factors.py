"""Whether a second factor was set up in a session of its person's own; earlier ones count so."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0043_accepted_groups'),
    ]

    operations = [
        migrations.AddField(
            model_name='secondfactor',
            name='is_own',
            field=models.BooleanField(db_default=True, default=True),
        ),
    ]
