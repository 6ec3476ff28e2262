"""Each message about a question that came back from a snooze has a delivery of its own."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0047_positions_of_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='notificationdelivery',
            name='return_number',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='n: after the n-th return of the question from a snooze'),
        ),
        migrations.AddField(
            model_name='pushdelivery',
            name='return_number',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='n: after the n-th return of the question from a snooze'),
        ),
        migrations.RemoveConstraint(
            model_name='notificationdelivery',
            name='one_delivery_a_question_and_destination',
        ),
        migrations.AddConstraint(
            model_name='notificationdelivery',
            constraint=models.UniqueConstraint(fields=('destination', 'inquiry', 'return_number'), name='one_delivery_a_return_and_destination'),
        ),
        migrations.RemoveConstraint(
            model_name='pushdelivery',
            name='one_push_a_question_and_browser',
        ),
        migrations.AddConstraint(
            model_name='pushdelivery',
            constraint=models.UniqueConstraint(fields=('subscription', 'inquiry', 'return_number'), name='one_push_a_return_and_browser'),
        ),
        migrations.AlterField(
            model_name='approval',
            name='was_applied',
            field=models.BooleanField(default=False, help_text='the call went on with the decision, or ended without it'),
        ),
    ]
