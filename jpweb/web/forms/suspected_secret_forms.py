"""Forms of suspected secrets: the filter of their list, and the note of a dismissal."""

from __future__ import annotations

from django import forms

from jpweb.store.choices import SuspectedSecretState
from jpweb.store.suspected_secrets.suggestions import MAX_NOTE_CHARS
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField, make_key_field
from jpweb.web.labels import suspected_secret_labels


class SuspectedSecretFilterForm(forms.Form):
    """The fields of the address; ``cleaned_data`` holds those that are valid."""

    state = forms.ChoiceField(
        required=False,
        choices=tuple(suspected_secret_labels.STATE_LABELS.items()),
        error_messages={"invalid_choice": notice_text.SUSPICION_STATE_UNKNOWN},
    )
    workspace = make_key_field("workspace")

    def clean_state(self) -> str:
        """Return the state; the open ones are listed first."""
        return self.cleaned_data["state"] or SuspectedSecretState.OPEN


class DismissalForm(forms.Form):
    """The reason why a text is not a secret."""

    note = VisibleTextField(
        max_length=MAX_NOTE_CHARS,
        error_messages={
            "required": notice_text.SUSPICION_NOTE_REQUIRED,
            "max_length": notice_text.SUSPICION_NOTE_TOO_LONG.format(limit=MAX_NOTE_CHARS),
        },
    )
