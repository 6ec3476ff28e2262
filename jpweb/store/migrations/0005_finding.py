"""Passages, their index of words, and saved searches.

Django knows no index of words, so each database's is made by hand. On SQLite it follows the table
by triggers, which go when the table is made anew: a migration that alters ``store_passage`` has to
call ``unlink`` before and ``link`` after.
"""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_NEW = "INSERT INTO store_passage_words(rowid, body, tags) VALUES (new.id, new.body, new.tags);"
_OLD = (
    "INSERT INTO store_passage_words(store_passage_words, rowid, body, tags)"
    " VALUES ('delete', old.id, old.body, old.tags);"
)
_TRIGGERS = {
    "store_passage_added": f"AFTER INSERT ON store_passage BEGIN {_NEW} END",
    "store_passage_removed": f"AFTER DELETE ON store_passage BEGIN {_OLD} END",
    "store_passage_changed": f"AFTER UPDATE OF id, body, tags ON store_passage BEGIN {_OLD} {_NEW} END",
}


def link(apps: Any, schema_editor: Any) -> None:
    """Index what is there, then follow the table: a removal of what is not indexed would break it."""
    for statement in _LINK.get(schema_editor.connection.vendor, ()):
        schema_editor.execute(statement)


def unlink(apps: Any, schema_editor: Any) -> None:
    for statement in _UNLINK.get(schema_editor.connection.vendor, ()):
        schema_editor.execute(statement)


_LINK = {
    "sqlite": [
        "CREATE VIRTUAL TABLE store_passage_words USING fts5(body, tags, content='store_passage',"
        " content_rowid='id', tokenize=\"unicode61 tokenchars '_'\")",
        "INSERT INTO store_passage_words(store_passage_words, rank) VALUES ('rank', 'bm25(1.0, 0.0)')",
        "INSERT INTO store_passage_words(store_passage_words) VALUES ('rebuild')",
        *(f"CREATE TRIGGER {name} {does}" for name, does in _TRIGGERS.items()),
    ],
    "postgresql": [
        "ALTER TABLE store_passage ADD COLUMN lexemes tsvector NOT NULL DEFAULT ''",
        "CREATE INDEX store_passage_lexemes ON store_passage USING gin (lexemes)",
    ],
}
_UNLINK = {
    "sqlite": [
        *(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS),
        "DROP TABLE IF EXISTS store_passage_words",
    ],
    "postgresql": ["ALTER TABLE store_passage DROP COLUMN lexemes"],
}


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0004_windows'),
    ]

    operations = [
        migrations.CreateModel(
            name='Passage',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('position', models.IntegerField(help_text='of the journal entry; -1: title and labels')),
                ('part', models.PositiveIntegerField(help_text='long ones are several, from 0')),
                ('head', models.PositiveIntegerField()),
                ('anchor', models.CharField(blank=True, max_length=80)),
                ('facet', models.CharField(max_length=20)),
                ('at', models.DateTimeField()),
                ('body', models.TextField()),
                ('tags', models.TextField(help_text='what filters look for, as words of the index')),
                ('tool', models.CharField(blank=True, help_text='the tool, or who asked', max_length=200)),
                ('who', models.CharField(blank=True, help_text='who said or decided it', max_length=200)),
                ('state', models.CharField(blank=True, help_text='of the inquiry', max_length=20)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='store.conversation')),
            ],
            options={
                'db_table': 'store_passage',
            },
        ),
        migrations.CreateModel(
            name='SavedSearch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('query', models.CharField(max_length=2000)),
                ('made_at', models.DateTimeField()),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='searches', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='passage',
            constraint=models.UniqueConstraint(fields=('conversation', 'position', 'part'), name='one_passage_a_place'),
        ),
        migrations.AddConstraint(
            model_name='savedsearch',
            constraint=models.UniqueConstraint(fields=('person', 'name'), name='one_search_a_name'),
        ),
        migrations.RunPython(link, unlink),
    ]
