"""Each snooze has the number of its return, which deliveries of that return repeat."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models


def number_snoozes(apps: Any, schema_editor: Any) -> None:
    """Give each snooze a number above those of the deliveries that its person has had."""
    alias = schema_editor.connection.alias

    def list_rows(model: str) -> Any:
        return apps.get_model('store', model).objects.using(alias)

    for snooze in list_rows('QuestionSnooze').iterator():
        numbers = [
            rows.aggregate(highest=models.Max('return_number', default=0))['highest']
            for rows in (
                list_rows('NotificationDelivery').filter(
                    inquiry_id=snooze.inquiry_id, destination__person_id=snooze.person_id
                ),
                list_rows('PushDelivery').filter(
                    inquiry_id=snooze.inquiry_id, subscription__person_id=snooze.person_id
                ),
            )
        ]
        snooze.return_number = 1 + max(numbers)
        snooze.save(update_fields=['return_number'])


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0049_questions_by_position'),
    ]

    operations = [
        migrations.AddField(
            model_name='questionsnooze',
            name='return_number',
            field=models.PositiveIntegerField(db_default=1, default=1, help_text='of the return, above those of earlier deliveries'),
        ),
        migrations.RunPython(number_snoozes, migrations.RunPython.noop),
    ]
