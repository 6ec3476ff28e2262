"""Sessions whose keys are hashed, invitations, and the makers of sign-in links.

Sessions of before are removed, so that no key stays readable: everybody signs in once more. So
are unused sign-in links, since it is not known which of them an owner made.
"""

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def remove_readable_sign_ins(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    apps.get_model('sessions', 'Session').objects.using(alias).all().delete()
    apps.get_model('store', 'SignInLink').objects.using(alias).filter(used_at=None).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('sessions', '0001_initial'),
        ('store', '0008_workspace_copies_id'),
    ]

    operations = [
        migrations.RunPython(remove_readable_sign_ins, migrations.RunPython.noop),
        migrations.AddField(
            model_name='signinlink',
            name='maker',
            field=models.ForeignKey(help_text='who made it; null: the operator, by a command', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='links_made', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=150)),
                ('role', models.PositiveSmallIntegerField(choices=[(10, 'reader'), (20, 'responder'), (30, 'auditor'), (40, 'owner')])),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField()),
                ('inviter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations_made', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='store.workspace')),
            ],
        ),
        migrations.CreateModel(
            name='SignIn',
            fields=[
                ('key_hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('data', models.TextField()),
                ('began_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now, help_text='the last request')),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('maker', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sign_ins_made', to=settings.AUTH_USER_MODEL)),
                ('person', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sign_ins', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
