"""Adds suspected secrets, and how far each conversation was searched for them."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from jpweb.store.database import clock


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('store', '0018_audit_views'),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name='SuspectedSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('anchor', models.CharField(max_length=60)),
                ('position', models.PositiveIntegerField(help_text='of its event, when it was found')),
                ('kind', models.CharField(max_length=60)),
                ('place', models.CharField(help_text='the field of the event', max_length=60)),
                ('text_index', models.PositiveIntegerField()),
                ('start', models.PositiveIntegerField()),
                ('length', models.PositiveIntegerField()),
                ('digest', models.CharField(help_text='HMAC-SHA-256 of the secret', max_length=64)),
                ('state', models.CharField(choices=[('open', 'Open'), ('dismissed', 'Dismissed'), ('redacted', 'Redacted')], default='open', max_length=10)),
                ('at', models.DateTimeField(default=clock.now)),
                ('decided_at', models.DateTimeField(null=True)),
                ('note', models.CharField(blank=True, help_text='why it is no secret', max_length=500)),
                ('needs_copies', models.BooleanField(default=True, help_text='copies in other tables are still to be masked')),
            ],
        ),
        migrations.AddField(
            model_name='conversation',
            name='scanned_entry_count',
            field=models.PositiveIntegerField(default=0, help_text='entries in which secrets were looked for'),
        ),
        migrations.AddField(
            model_name='conversation',
            name='scanned_revision',
            field=models.PositiveIntegerField(default=0, help_text='of which revision'),
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('entry_count__gt', models.F('scanned_entry_count')), models.Q(('revision', models.F('scanned_revision')), _negated=True), _connector='OR'), fields=['last_activity', 'id'], name='conversations_to_scan'),
        ),
        migrations.AddField(
            model_name='suspectedsecret',
            name='conversation',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='suspected_secrets', to='store.conversation'),
        ),
        migrations.AddField(
            model_name='suspectedsecret',
            name='decided_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='suspectedsecret',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='suspected_secrets', to='store.workspace'),
        ),
        migrations.AddIndex(
            model_name='suspectedsecret',
            index=models.Index(fields=['workspace', 'state', '-id'], name='suspected_secrets_by_state'),
        ),
        migrations.AddIndex(
            model_name='suspectedsecret',
            index=models.Index(fields=['workspace', 'digest'], name='suspected_secrets_by_digest'),
        ),
        migrations.AddIndex(
            model_name='suspectedsecret',
            index=models.Index(condition=models.Q(('needs_copies', True)), fields=['id'], name='suspected_secrets_to_copy'),
        ),
        migrations.AddConstraint(
            model_name='suspectedsecret',
            constraint=models.UniqueConstraint(fields=('conversation', 'anchor', 'text_index', 'start'), name='one_suspected_secret_a_place'),
        ),
    ]
