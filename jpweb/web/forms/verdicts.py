"""Forms of reviews: a verdict with its note, an assignment, and a workspace's number of reviews."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from jpweb.store.choices import Verdict
from jpweb.store.db_text import has_visible_character
from jpweb.store.reviews.reviews import MAX_NOTE_CHARS, ReviewInput
from jpweb.store.workspace_config.review_policy import REVIEW_COUNTS
from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField, WholeNumberField
from jpweb.web.labels import review_labels


class VerdictForm(forms.Form):
    """A review. ``version`` and ``seen`` tell the store which version the page showed."""

    verdict = forms.TypedChoiceField(
        choices=[(tag, label) for tag, (label, _) in review_labels.VERDICT_LABELS.items()],
        coerce=Verdict,
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.VERDICT_REQUIRED),
    )
    # A browser counts a line end as one character, and sends two.
    note = TextField(required=False, max_chars=2 * MAX_NOTE_CHARS)
    version = TextField(required=False, max_chars=64)
    seen = WholeNumberField(required=False)

    def clean(self) -> dict[str, Any]:
        """Require a note beside every verdict but “fine”."""
        values = self.cleaned_data
        verdict = values.get("verdict")
        if (
            verdict
            and verdict != Verdict.FINE
            and not has_visible_character(values.get("note", ""))
        ):
            self.add_error("note", notice_text.REVIEW_NOTE_REQUIRED)
        return values

    def make_input(self) -> ReviewInput:
        """Return the review of a valid form."""
        values = self.cleaned_data
        return ReviewInput(
            values["verdict"], values["note"], values["version"], values["seen"] or 0
        )


class AssignmentForm(forms.Form):
    """The key of the auditor to whom a review is assigned, who may not exist; empty for nobody."""

    assignee = WholeNumberField(
        required=False,
        min_value=1,
        error_messages=dict.fromkeys(("invalid", "min_value"), notice_text.AUDITOR_REQUIRED),
    )

    def clean_assignee(self) -> int | None:
        """Refuse a form without the field, which does not say that it means nobody."""
        if "assignee" not in self.data:
            raise ValidationError(notice_text.AUDITOR_REQUIRED)
        assignee_id: int | None = self.cleaned_data["assignee"]
        return assignee_id


class ReviewCountForm(forms.Form):
    """By how many people the questions of a workspace are reviewed."""

    reviews_required = forms.TypedChoiceField(
        choices=[(count, review_labels.REVIEW_COUNT_LABELS[count]) for count in REVIEW_COUNTS],
        coerce=int,
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.OPTION_REQUIRED),
    )
