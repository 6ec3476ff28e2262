"""The questions of a transcript's window are found by their positions, not among all of theirs."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0048_returns_of_questions'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='inquiry',
            index=models.Index(fields=['conversation', 'position'], name='questions_by_position'),
        ),
    ]
