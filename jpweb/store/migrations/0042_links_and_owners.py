"""The way of an answer, decisions of owners, and what was escalated to them.

Verdicts of before that escalate count: until an owner decides, their tasks are *escalated*.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent


def escalate_tasks(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    reviews = apps.get_model('store', 'Review').objects.using(alias)
    tasks = apps.get_model('store', 'ReviewTask').objects.using(alias)
    places = reviews.filter(verdict='escalate').values_list('conversation_id', 'anchor').distinct()
    for conversation_id, anchor in places:
        rows = reviews.filter(conversation_id=conversation_id, anchor=anchor).order_by('pk')
        latest = {(row.version, row.round): row for row in rows}
        own_keys = {(row.reviewer_id, row.reviewer_name): row.pk for row in rows}
        # A blind review is known to its reviewer alone until the second is in.
        if any(
            row.verdict == 'escalate'
            and own_keys[row.reviewer_id, row.reviewer_name] == row.pk
            and (latest.get((version, 1), row).rounds_required < 2 or (version, 2) in latest)
            for (version, _), row in latest.items()
        ):
            task = tasks.filter(conversation_id=conversation_id, anchor=anchor)
            task.update(state='escalated', verdict='')


def fill_channels(apps: Any, schema_editor: Any) -> None:
    """Give answers by a notification's button the channel that their events name."""
    alias = schema_editor.connection.alias
    entries = apps.get_model('store', 'JournalEntry').objects.using(alias)
    inquiries = apps.get_model('store', 'Inquiry').objects.using(alias)
    responses = entries.filter(kind='inquiry_response', text__contains='"channel"')
    columns = responses.values_list('conversation_id', 'position', 'text')
    for conversation_id, position, text in columns.iterator():
        body = wire.read_element(text).body
        channel = body.note.get('channel') if isinstance(body, ConversationEvent) else None
        if isinstance(channel, str):
            inquiries.filter(
                conversation_id=conversation_id, response_position=position
            ).update(channel=channel[:20])


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0041_policies_of_checkpoints'),
    ]

    operations = [
        migrations.AddField(
            model_name='inquiry',
            name='channel',
            field=models.CharField(blank=True, db_default='', help_text='the way of the answer, where that was no page of a signed-in person', max_length=20),
        ),
        migrations.AlterField(
            model_name='review',
            name='round',
            field=models.PositiveSmallIntegerField(help_text='1: first review, 2: second review, 3: owner'),
        ),
        migrations.RemoveIndex(
            model_name='reviewtask',
            name='review_tasks_to_look_at',
        ),
        migrations.AlterField(
            model_name='reviewtask',
            name='state',
            field=models.CharField(choices=[('unreviewed', 'Unreviewed'), ('partial', 'Partial'), ('done', 'Done'), ('disagreed', 'Disagreed'), ('escalated', 'Escalated')], default='unreviewed', max_length=10),
        ),
        migrations.AddIndex(
            model_name='reviewtask',
            index=models.Index(condition=models.Q(('state__in', ('partial', 'disagreed', 'escalated'))), fields=['state', '-id'], name='reviews_to_look_at'),
        ),
        migrations.RunPython(escalate_tasks, migrations.RunPython.noop),
        migrations.RunPython(fill_channels, migrations.RunPython.noop),
    ]
