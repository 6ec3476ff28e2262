"""Form of a person's notification destination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from jpweb.runtime.notifications import apprise_sender
from jpweb.store.notifications.destinations import MAX_DELAY_SECONDS
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField, WholeNumberField

if TYPE_CHECKING:
    from jpweb.store.models import Workspace


class DestinationForm(forms.Form):
    """A URL, which may hold a key, the workspace that it is for, and the seconds before it is used.

    ``workspaces`` are those in which the person can answer.
    """

    url = VisibleTextField(error_messages={"required": notice_text.URL_REQUIRED})
    delay = WholeNumberField(
        max_value=MAX_DELAY_SECONDS,
        initial=60,
        error_messages=dict.fromkeys(
            ("required", "invalid", "max_value"),
            notice_text.DELAY_INVALID.format(max_seconds=MAX_DELAY_SECONDS),
        ),
    )

    def __init__(self, workspaces: Iterable[Workspace], params: QueryDict | None = None) -> None:
        super().__init__(params)
        self.fields["workspace"] = forms.TypedChoiceField(
            choices=[(workspace.pk, workspace.name) for workspace in workspaces],
            coerce=int,
            error_messages=dict.fromkeys(
                ("required", "invalid_choice"), notice_text.RESPONDER_WORKSPACE_REQUIRED
            ),
        )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            apprise_sender.check_address(url)
        except apprise_sender.InvalidAddress as error:
            raise ValidationError(str(error)) from error
        return url
