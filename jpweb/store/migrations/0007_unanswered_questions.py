from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def leave(apps: Any, _editor: Any) -> None:
    """Mark open questions of earlier turns as unanswered: another program left them."""
    Inquiry, Turn = apps.get_model("store", "Inquiry"), apps.get_model("store", "Turn")
    last = Turn.objects.filter(conversation_id=OuterRef("conversation_id")).order_by("-number")
    Inquiry.objects.filter(
        state="open", position__lt=Subquery(last.values("position")[:1])
    ).update(state="unanswered")


class Migration(migrations.Migration):
    dependencies = [("store", "0006_lists")]

    operations = [migrations.RunPython(leave, migrations.RunPython.noop, elidable=True)]
