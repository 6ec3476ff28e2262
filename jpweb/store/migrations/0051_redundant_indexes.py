"""Foreign keys lose their own index where another one begins with the same column.

Each was written with every row, and none was the only one that a query could take. Only indexes
are dropped: Django would copy each of the tables on SQLite.
"""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FOREIGN_KEYS = [
    ('approval', 'conversation'),
    ('bookmark', 'person'),
    ('callcheckpoint', 'run'),
    ('commentthread', 'conversation'),
    ('conversation', 'workspace'),
    ('displayreceipt', 'inquiry'),
    ('groupmember', 'group'),
    ('grouprole', 'group'),
    ('journalentry', 'conversation'),
    ('membership', 'person'),
    ('mention', 'comment'),
    ('mention', 'person'),
    ('notificationdelivery', 'destination'),
    ('presence', 'workspace'),
    ('pushdelivery', 'subscription'),
    ('questionsnooze', 'person'),
    ('readmark', 'person'),
    ('redaction', 'conversation'),
    ('review', 'conversation'),
    ('reviewtask', 'conversation'),
    ('run', 'conversation'),
    ('suspectedsecret', 'conversation'),
    ('suspectedsecret', 'workspace'),
    ('turn', 'conversation'),
]


def drop_indexes(apps: Any, schema_editor: Any) -> None:
    """Drop the indexes of these columns alone, whatever their names are."""
    for model_name, field_name in FOREIGN_KEYS:
        model = apps.get_model('store', model_name)
        column = model._meta.get_field(field_name).column
        names = schema_editor._constraint_names(model, [column], index=True, unique=False)
        for name in names:
            schema_editor.execute(schema_editor._delete_index_sql(model, name))


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0050_returns_and_recipients'),
    ]

    operations = [
        migrations.RunPython(drop_indexes, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.AlterField(
                model_name='approval',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='bookmark',
                name='person',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='bookmarks', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='callcheckpoint',
                name='run',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='store.run'),
            ),
            migrations.AlterField(
                model_name='commentthread',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='comment_threads', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='conversation',
                name='workspace',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to='store.workspace'),
            ),
            migrations.AlterField(
                model_name='displayreceipt',
                name='inquiry',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='display_receipts', to='store.inquiry'),
            ),
            migrations.AlterField(
                model_name='groupmember',
                name='group',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='store.group'),
            ),
            migrations.AlterField(
                model_name='grouprole',
                name='group',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='roles', to='store.group'),
            ),
            migrations.AlterField(
                model_name='journalentry',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='journal', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='membership',
                name='person',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='mention',
                name='comment',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='store.comment'),
            ),
            migrations.AlterField(
                model_name='mention',
                name='person',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='notificationdelivery',
                name='destination',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notification_deliveries', to='store.notificationdestination'),
            ),
            migrations.AlterField(
                model_name='presence',
                name='workspace',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='presences', to='store.workspace'),
            ),
            migrations.AlterField(
                model_name='pushdelivery',
                name='subscription',
                field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='push_deliveries', to='store.pushsubscription'),
            ),
            migrations.AlterField(
                model_name='questionsnooze',
                name='person',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='question_snoozes', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='readmark',
                name='person',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='redaction',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='redactions', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='review',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='reviewtask',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='review_tasks', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='run',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='suspectedsecret',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='suspected_secrets', to='store.conversation'),
            ),
            migrations.AlterField(
                model_name='suspectedsecret',
                name='workspace',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='suspected_secrets', to='store.workspace'),
            ),
            migrations.AlterField(
                model_name='turn',
                name='conversation',
                field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='outline', to='store.conversation'),
            ),
        ]),
    ]
