"""Form that answers or declines a question, on its card and on the page of an answer link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

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
