"""Snoozes have the number of their return, and messages to browsers keep their person.

Deliveries of a return repeat its number. A message to a browser outlives the subscription.
"""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
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


def fill_people(apps: Any, schema_editor: Any) -> None:
    """Give each message to a browser the person of its subscription."""
    alias = schema_editor.connection.alias
    subscriptions = apps.get_model('store', 'PushSubscription').objects.using(alias)
    people = subscriptions.filter(pk=models.OuterRef('subscription_id')).values('person_id')
    messages = apps.get_model('store', 'PushDelivery').objects.using(alias)
    messages.filter(person=None).update(person_id=models.Subquery(people[:1]))


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
        migrations.AddField(
            model_name='pushdelivery',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='push_deliveries', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(fill_people, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='pushdelivery',
            name='person',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='push_deliveries', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='pushdelivery',
            name='subscription',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='push_deliveries', to='store.pushsubscription'),
        ),
    ]
