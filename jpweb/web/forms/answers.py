"""Forms of cards: an answer, also by an answer link, a snooze, and the decision of an approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store.inbox import snoozes
from jpweb.web import notice_text
from jpweb.web.answer_submission import AnswerInput
from jpweb.web.forms.fields import TypedTextField

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry


class AnswerForm(forms.Form):
    """An answer, which its answer type checks, or the reason of a decline."""

    answer = TypedTextField()
    remember = forms.BooleanField(required=False)
    note = TypedTextField()

    def __init__(self, inquiry: Inquiry, params: QueryDict) -> None:
        super().__init__(params)
        self._answer_type = inquiry.answer_type

    @property
    def is_decline(self) -> bool:
        """Whether the form of an answer link declines."""
        return bool(self.data.get("do") == "decline")

    def clean(self) -> None:
        """Require the field of a text: an empty text is an answer too."""
        if self._answer_type == "text" and not self.is_decline and "answer" not in self.data:
            raise ValidationError(notice_text.ANSWER_REQUIRED)

    def make_input(self) -> AnswerInput:
        """Return the values, also of a form that is not valid."""
        self.full_clean()
        return AnswerInput(**self.cleaned_data)


class SnoozeForm(forms.Form):
    """For how long a question is hidden, and the browser's time zone; adds the time as ``end``."""

    zone = TypedTextField()

    def __init__(self, params: QueryDict) -> None:
        super().__init__(params)
        self.fields["for"] = TypedTextField()  # a keyword of Python

    def clean(self) -> dict[str, Any]:
        """Require a choice that the store knows."""
        end = snoozes.find_end(self.cleaned_data["for"], self.cleaned_data["zone"])
        if end is None:
            raise ValidationError(notice_text.SNOOZE_TIME_REQUIRED)
        return self.cleaned_data | {"end": end}


class ApprovalForm(forms.Form):
    """The edited arguments or result, which the runtime checks, or the reason of a refusal."""

    text = TypedTextField()
    reason = TypedTextField()
    remember = forms.BooleanField(required=False)

    def make_verdict(self, *, allow: bool) -> ApprovalVerdict:
        """Return the decision; without the text where the form has no field for it."""
        self.full_clean()
        values = self.cleaned_data
        if not allow:
            return ApprovalVerdict(False, values["remember"], reason=values["reason"])
        text = values["text"] if "text" in self.data else None
        return ApprovalVerdict(True, values["remember"], text)
