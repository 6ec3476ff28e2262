"""Form of the filters of decisions, in its address."""

from __future__ import annotations

from django import forms

from jpweb.store.choices import DecisionKind
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField, make_key_field, share_fields
from jpweb.web.forms.filters.inquiry_filters import PeriodForm
from jpweb.web.labels import audit_labels


@share_fields
class DecisionFilterForm(PeriodForm):
    """The fields of ``DecisionFilters``, and how they are viewed.

    ``cleaned_data`` holds those that are valid.
    """

    kind = forms.ChoiceField(
        required=False,
        choices=DecisionKind.choices,
        error_messages={"invalid_choice": notice_text.DECISION_KIND_UNKNOWN},
    )
    workspace = make_key_field("workspace")
    decider = TextField(required=False)
    person = make_key_field("person", label="account")
    conversation = make_key_field("conversation")
    identifier = TextField(required=False)
    demo = forms.BooleanField(required=False)
    unattended = forms.BooleanField(required=False)
    tool = TextField(required=False)
    words = TextField(required=False)
    decided = forms.ChoiceField(
        required=False,
        choices=tuple(audit_labels.DECIDER_KIND_LABELS.items()),
        error_messages={"invalid_choice": notice_text.DECIDER_KIND_UNKNOWN},
    )
    view = forms.ChoiceField(
        required=False,
        choices=audit_labels.DECISION_VIEW_LABELS,
        error_messages={"invalid_choice": notice_text.DECISION_VIEW_UNKNOWN},
    )

    def build_filters(self) -> DecisionFilters:
        """Return the valid filters."""
        return DecisionFilters(
            **{name: value for name, value in self.cleaned_data.items() if name != "view"}
        )

    @property
    def is_timeline(self) -> bool:
        """Whether the decisions are a timeline, not a table."""
        return self.cleaned_data.get("view") == "timeline"
