"""Indexes of the list of conversations: each order, a workspace at a time."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0005_finding'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='conversation',
            name='store_conve_last_ac_ab1c81_idx',
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['workspace', 'archived', 'last_activity', 'id'], name='conversations_by_activity'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['workspace', 'origin', 'archived', 'last_activity', 'id'], name='conversations_by_origin'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['workspace', 'archived', 'length', 'id'], name='conversations_by_length'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('pinned_at__isnull', False)), fields=['workspace', 'archived', 'pinned_at', 'id'], name='conversations_pinned'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('problem', ''), _negated=True), fields=['workspace', 'archived', 'last_activity', 'id'], name='conversations_with_problems'),
        ),
        migrations.AddIndex(
            model_name='reading',
            index=models.Index(fields=['person', 'at'], name='readings_by_time'),
        ),
    ]
