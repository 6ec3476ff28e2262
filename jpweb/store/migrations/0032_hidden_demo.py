from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("store", "0031_claims_and_snoozes"),
    ]

    operations = [
        migrations.AddField(
            model_name="person",
            name="hidden_demo_role",
            field=models.PositiveSmallIntegerField(
                help_text="their role in the demo, which they have hidden", null=True
            ),
        ),
    ]
