"""Form of the ledger's filters, in its address."""

from __future__ import annotations

from django import forms

from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField, make_key_field, share_fields
from jpweb.web.forms.filters.inquiry_filters import PeriodForm
from jpweb.web.labels import ledger_labels


@share_fields
class LedgerFilterForm(PeriodForm):
    """The fields of ``LedgerFilters``; ``cleaned_data`` holds those that are valid."""

    act = forms.ChoiceField(
        required=False,
        choices=tuple(ledger_labels.ACT_LABELS.items()),
        error_messages={"invalid_choice": notice_text.ACT_UNKNOWN},
    )
    workspace = make_key_field("workspace")
    person = make_key_field("person")
    conversation = make_key_field("conversation")
    identifier = TextField(required=False)
