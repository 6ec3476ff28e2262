"""Forms of conversations: a message, a new one, a change of its metadata, and a comment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField, TypedTextField, WholeNumberField

if TYPE_CHECKING:
    from jpweb.store.models import Workspace


#: Actions of the buttons and forms that change a conversation's metadata.
_METADATA_ACTIONS = ("pin", "unpin", "archive", "unarchive", "rename", "label", "unlabel")


class MessageForm(forms.Form):
    """A message to the model."""

    text = TextField(error_messages={"required": notice_text.MESSAGE_REQUIRED})


class NewConversationForm(MessageForm):
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
        self.order_fields(["workspace", "text"])


class MetadataForm(forms.Form):
    """A change of a conversation's metadata, by its action; the store checks titles and labels."""

    do = forms.ChoiceField(
        choices=[(action, action) for action in _METADATA_ACTIONS],
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.CHANGE_REQUIRED),
    )
    title = TypedTextField()
    label = TypedTextField()

    def clean(self) -> None:
        """Require the name of the label to remove."""
        if self.cleaned_data.get("do") == "unlabel" and "label" not in self.data:
            raise ValidationError(notice_text.CHANGE_REQUIRED)


class CommentForm(forms.Form):
    """The text of a comment, which the store checks, and the key of one that exists."""

    comment = WholeNumberField(required=False)
    text = TypedTextField()

    def read_values(self) -> tuple[int, str]:
        """Return the key, 0 where the form has none, which no row has; and the text."""
        self.full_clean()
        return self.cleaned_data.get("comment") or 0, self.cleaned_data["text"]
