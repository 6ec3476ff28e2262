"""Who made the sign-in link that led to a passkey or an identity.

For those of before the ledger says it: the last other person who made a link for the account since
its person took an invitation, which ends what others may hold. Sessions by a passkey or identity
end where there was such a person, since they do not tell which of them it was. Unused links that
were made in them count as that person's.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Q

#: Between the row of a session and the ledger entry of its sign-in, which one request inserts.
SIGN_IN_SPAN = timedelta(seconds=10)


class History:
    """What the ledger says of the links and sign-ins of people."""

    def __init__(self, apps: Any, alias: str) -> None:
        self.entries = apps.get_model('store', 'LedgerEntry').objects.using(alias)
        self.person_ids = apps.get_model('store', 'Person').objects.using(alias).values('pk')

    def find_maker(self, person_id: int, until: datetime) -> int | None:
        """Return the other person whose link can have led to a session of then."""
        by_person = Q(person_id=person_id)
        link = Q(act='link_made', person_id__in=self.person_ids) & ~by_person
        # People also add themselves by a new workspace or a group, which ends less.
        by_other_ways = Q(text__contains='"role":"owner"') | Q(text__contains='"group":')
        invitation = Q(act='member_added') & by_person & ~by_other_ways
        acts = self.entries.filter(subject=f'person:{person_id}', at__lte=until)
        acts = acts.filter(link | invitation)
        last_act = acts.order_by('-id').first()
        return last_act.person_id if last_act and last_act.act == 'link_made' else None

    def is_without_link(self, sign_in: Any) -> bool:
        """Tell whether a passkey or an identity began a session."""
        span = (sign_in.began_at - SIGN_IN_SPAN, sign_in.began_at + SIGN_IN_SPAN)
        acts = self.entries.filter(person_id=sign_in.person_id, act='signed_in', at__range=span)
        contents = [json.loads(text) for text in acts.values_list('text', flat=True) if text]
        return any({'passkey', 'provider'} & entry.get('details', {}).keys() for entry in contents)


def note_makers(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    history = History(apps, alias)

    def list_rows(model: str, **conditions: Any) -> Any:
        return apps.get_model('store', model).objects.using(alias).filter(**conditions)

    for model, column in (('Identity', 'connected_at'), ('Passkey', 'added_at')):
        for row in list_rows(model, is_own=False):
            maker_id = history.find_maker(row.person_id, getattr(row, column))
            list_rows(model, pk=row.pk).update(maker_id=maker_id)
    for link in list_rows('SignInLink', maker_id=F('person_id'), used_at=None):
        maker_id = history.find_maker(link.person_id, link.created_at)
        list_rows('SignInLink', pk=link.pk).update(maker_id=maker_id or link.maker_id)
    for sign_in in list_rows('SignIn', person__isnull=False, maker=None):
        maker_id = history.find_maker(sign_in.person_id, sign_in.began_at)
        if maker_id is not None and history.is_without_link(sign_in):
            list_rows('SignIn', pk=sign_in.pk).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0037_mirror_passes'),
    ]

    operations = [
        migrations.AddField(
            model_name='identity',
            name='maker',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='identities_led_to', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='passkey',
            name='maker',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='passkeys_led_to', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(note_makers, migrations.RunPython.noop),
    ]
