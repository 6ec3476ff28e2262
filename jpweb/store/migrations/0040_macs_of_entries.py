"""MACs of the ledger's entries that are not sealed yet."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models

from jpweb.store.ledger import entry_macs


def add_macs(apps: Any, schema_editor: Any) -> None:
    """Give the entries of before the column their MACs: an earlier jpweb recorded them."""
    alias = schema_editor.connection.alias
    entries = apps.get_model('store', 'LedgerEntry').objects.using(alias)
    unsealed = entries.filter(sequence__isnull=True).values_list('pk', 'text_hash')
    for key, text_hash in list(unsealed):
        entries.filter(pk=key).update(mac=entry_macs.compute_mac(text_hash))


class Migration(migrations.Migration):

    dependencies = [
        ('store', '0039_imported_approvals'),
    ]

    operations = [
        migrations.AddField(
            model_name='ledgerentry',
            name='mac',
            field=models.CharField(help_text='see entry_macs; null in the chain', max_length=64, null=True),
        ),
        migrations.RunPython(add_macs, migrations.RunPython.noop),
    ]
