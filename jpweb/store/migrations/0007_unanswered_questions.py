from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def leave(apps: Any, schema_editor: Any) -> None:
    """Mark open questions of earlier turns as unanswered: another program left them."""
    Inquiry, Turn = apps.get_model("store", "Inquiry"), apps.get_model("store", "Turn")
    alias = schema_editor.connection.alias
    turns = Turn.objects.using(alias)
    last = turns.filter(conversation_id=OuterRef("conversation_id")).order_by("-number")
    Inquiry.objects.using(alias).filter(
        state="open", position__lt=Subquery(last.values("position")[:1])
    ).update(state="unanswered")


class Migration(migrations.Migration):
    dependencies = [("store", "0006_lists")]

    operations = [migrations.RunPython(leave, migrations.RunPython.noop, elidable=True)]
