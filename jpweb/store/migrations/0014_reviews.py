"""Reviews, the work on them, and how many of them a workspace asks for."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ('store', '0013_renamed_approval_columns'),
    ]

    operations: ClassVar = [
        migrations.AddField(
            model_name='workspace',
            name='reviews_required',
            field=models.PositiveSmallIntegerField(db_default=1, default=1, help_text='by how many people, each blind to the other: 1 or 2'),
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('anchor', models.CharField(blank=True, help_text='of the question; empty: the conversation', max_length=60)),
                ('version', models.CharField(help_text='identifies what was reviewed; another after each change of it', max_length=64)),
                ('content_hash', models.CharField(help_text='SHA-256 of what was reviewed', max_length=64)),
                ('round', models.PositiveSmallIntegerField(help_text='1: first review, 2: second review')),
                ('revision', models.PositiveIntegerField(help_text='counts the reviews of a round, from 1')),
                ('rounds_required', models.PositiveSmallIntegerField(help_text='as the workspace asked when the first review was given')),
                ('verdict', models.CharField(choices=[('fine', 'Fine'), ('questionable', 'Questionable'), ('wrong', 'Wrong'), ('escalate', 'Escalate')], max_length=20)),
                ('note', models.TextField(blank=True)),
                ('nonce', models.CharField(help_text="random, so that the ledger's hash does not reveal the verdict", max_length=32)),
                ('reviewer_name', models.CharField(max_length=200)),
                ('reviewed_at', models.DateTimeField()),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='store.conversation')),
                ('reviewer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reviews', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('conversation', 'anchor', 'version', 'round', 'revision'), name='one_review_a_revision')],
            },
        ),
        migrations.CreateModel(
            name='ReviewTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('anchor', models.CharField(blank=True, help_text='of the question; empty: the conversation', max_length=60)),
                ('state', models.CharField(choices=[('unreviewed', 'Unreviewed'), ('partial', 'Partial'), ('done', 'Done'), ('disagreed', 'Disagreed')], default='unreviewed', max_length=10)),
                ('verdict', models.CharField(blank=True, help_text='on which complete reviews agree', max_length=20)),
                ('held_until', models.DateTimeField(null=True)),
                ('assignee', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='review_tasks', to=settings.AUTH_USER_MODEL)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='review_tasks', to='store.conversation')),
                ('first_reviewer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='first_reviews', to=settings.AUTH_USER_MODEL)),
                ('holder', models.ForeignKey(help_text='is reviewing', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='held_reviews', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state__in', ('partial', 'disagreed'))), fields=['state', '-id'], name='review_tasks_to_look_at')],
                'constraints': [models.UniqueConstraint(fields=('conversation', 'anchor'), name='one_review_task')],
            },
        ),
    ]
