"""Runs save where in the journal their calls began again; earlier ones have no such place."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0046_has_silo'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='restart_position',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='length of the journal when a person restarted its calls'),
        ),
        migrations.AddField(
            model_name='run',
            name='takeover_position',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='the same, when its calls were last taken over'),
        ),
    ]
