"""Form of a new conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django import forms
from django.http import QueryDict

from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField

if TYPE_CHECKING:
    from jpweb.store.models import Workspace


class NewConversationForm(forms.Form):
    """One of the person's workspaces, and the first message."""

    def __init__(self, workspaces: Sequence[Workspace], params: QueryDict | None = None) -> None:
        super().__init__(params)
        self.fields["workspace"] = forms.TypedChoiceField(
            choices=[(workspace.pk, workspace.name) for workspace in workspaces],
            coerce={str(workspace.pk): workspace for workspace in workspaces}.__getitem__,
            error_messages=dict.fromkeys(
                ("required", "invalid_choice"), notice_text.WORKSPACE_REQUIRED
            ),
        )
        self.fields["text"] = TextField(error_messages={"required": notice_text.MESSAGE_REQUIRED})
