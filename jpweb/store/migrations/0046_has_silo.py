"""Workspaces remember that user-local copies of theirs were read; the next pass sets it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0045_reply_channel'),
    ]

    operations = [
        migrations.AddField(
            model_name='workspace',
            name='has_silo',
            field=models.BooleanField(db_default=False, default=False, help_text='user-local copies bound to this root were read'),
        ),
    ]
