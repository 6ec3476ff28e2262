"""Form of the ledger's filters, in its address."""

from __future__ import annotations

from django import forms

from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField
from jpweb.web.forms.filters.inquiry_filters import PeriodForm
from jpweb.web.labels import ledger_labels


class LedgerFilterForm(PeriodForm):
    """The fields of ``LedgerFilters``; ``cleaned_data`` holds those that are valid."""

    act = forms.ChoiceField(
        required=False,
        choices=tuple(ledger_labels.ACT_LABELS.items()),
        error_messages={"invalid_choice": notice_text.ACT_UNKNOWN},
    )
    workspace = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    person = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    conversation = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    identifier = TextField(required=False)
