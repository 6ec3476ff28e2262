"""Questions that a reply to the model interrupted have the channel ``reply``, earlier ones too."""

from __future__ import annotations

from typing import Any

from django.db import migrations

from jpweb.stream import wire
from jpweb.stream.events import ConversationEvent


def fill_channels(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    entries = apps.get_model('store', 'JournalEntry').objects.using(alias)
    inquiries = apps.get_model('store', 'Inquiry').objects.using(alias)
    responses = entries.filter(kind='inquiry_response', text__contains='"replied"')
    columns = responses.values_list('conversation_id', 'position', 'text')
    for conversation_id, position, text in columns.iterator():
        body = wire.read_element(text).body
        if isinstance(body, ConversationEvent) and body.note.get('replied') is True:
            inquiries.filter(
                conversation_id=conversation_id, response_position=position, state='cancelled'
            ).update(channel='reply')


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0044_own_second_factors'),
    ]

    operations = [
        migrations.RunPython(fill_channels, migrations.RunPython.noop),
    ]
