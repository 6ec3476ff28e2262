"""Form of the filters of decisions, in its address."""

from __future__ import annotations

from django import forms

from jpweb.store.choices import DecisionKind
from jpweb.web import notice_text
from jpweb.web.forms.fields import WholeNumberField
from jpweb.web.forms.inquiry_filters import PeriodForm


class DecisionFilterForm(PeriodForm):
    """The fields of ``DecisionFilters``; ``cleaned_data`` holds those that are valid."""

    kind = forms.ChoiceField(
        required=False,
        choices=DecisionKind.choices,
        error_messages={"invalid_choice": notice_text.DECISION_KIND_UNKNOWN},
    )
    workspace = WholeNumberField(required=False)
    person = WholeNumberField(required=False)
    conversation = WholeNumberField(required=False)
