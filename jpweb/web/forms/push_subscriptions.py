"""Form of a browser's push subscription, which the page's script fills."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from jpweb.runtime.notifications import push_sender
from jpweb.store.notifications.destinations import MAX_DELAY_SECONDS
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField, WholeNumberField


class PushSubscriptionForm(forms.Form):
    """An endpoint, the browser's two keys, and the seconds before it is used."""

    endpoint = VisibleTextField(error_messages={"required": notice_text.PUSH_NEEDS_SCRIPT})
    public_key = VisibleTextField(
        max_length=100, error_messages={"required": notice_text.PUSH_NEEDS_SCRIPT}
    )
    auth_secret = VisibleTextField(
        max_length=30, error_messages={"required": notice_text.PUSH_NEEDS_SCRIPT}
    )
    browser_delay = WholeNumberField(
        max_value=MAX_DELAY_SECONDS,
        error_messages=dict.fromkeys(
            ("required", "invalid", "max_value"),
            notice_text.DELAY_INVALID.format(max_seconds=MAX_DELAY_SECONDS),
        ),
    )

    def clean(self) -> dict[str, Any]:
        fields = self.cleaned_data
        if not self.errors:
            try:
                push_sender.check_subscription(
                    fields["endpoint"], fields["public_key"], fields["auth_secret"]
                )
            except push_sender.InvalidSubscription as error:
                raise ValidationError(str(error)) from error
        return fields
