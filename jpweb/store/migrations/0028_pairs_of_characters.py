"""Has every conversation indexed again, for terms of text without blanks between words.

Passages that are the same stay as they are; the indexer writes the others behind the pages.
"""

from typing import Any

from django.db import migrations


def index_again(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("store", "Conversation").objects.using(schema_editor.connection.alias)
    conversations = rows.filter(indexed_entry_count__gt=0)
    conversations.update(needs_indexing=True, indexed_entry_count=0, indexed_revision=0)


class Migration(migrations.Migration):

    dependencies = [
        ("store", "0027_appearance"),
    ]

    operations = [migrations.RunPython(index_again, migrations.RunPython.noop)]
