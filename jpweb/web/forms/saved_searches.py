"""Forms that save a search, or a view of a table, under a name."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from jpweb.store.choices import SavedPage
from jpweb.store.search import query_parser
from jpweb.store.search.saved_searches import MAX_NAME_CHARS, MAX_QUERY_CHARS
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField
from jpweb.web.forms.filters.decision_filters import DecisionFilterForm
from jpweb.web.forms.filters.inquiry_filters import InquiryFilterForm

#: The parameters of each page's address, but for the place in it.
_PARAMS_BY_PAGE = {
    SavedPage.SEARCH: frozenset({"q", *query_parser.FILTER_DESCRIPTIONS, "sort"}),
    SavedPage.AUDIT: frozenset({*InquiryFilterForm.base_fields, "sort"}),
    SavedPage.DECISIONS: frozenset(DecisionFilterForm.base_fields),
}


def _make_name_field(required_text: str) -> VisibleTextField:
    too_long_text = notice_text.SAVED_NAME_TOO_LONG.format(limit=MAX_NAME_CHARS)
    return VisibleTextField(
        max_length=MAX_NAME_CHARS,
        error_messages={"required": required_text, "max_length": too_long_text},
    )


class SavedSearchForm(forms.Form):
    """A name, and the query string of the search page."""

    NOT_SAVABLE_TEXT = notice_text.SEARCH_NOT_SAVABLE
    name = _make_name_field(notice_text.SEARCH_NAME_REQUIRED)

    @property
    def saved_page(self) -> SavedPage:
        """The page whose query string is saved."""
        return SavedPage.SEARCH

    @property
    def query_string(self) -> str:
        """The known parameters of the page, also where the form is not valid."""
        names = _PARAMS_BY_PAGE[self.saved_page]
        params = QueryDict(self.data.get("query", "")[: 2 * MAX_QUERY_CHARS]).dict()
        values = {name: value.strip() for name, value in params.items() if name in names}
        return urlencode({name: value for name, value in values.items() if value})

    def clean(self) -> None:
        """Require a query string that fits."""
        if not self.query_string or len(self.query_string) > MAX_QUERY_CHARS:
            raise ValidationError(self.NOT_SAVABLE_TEXT)


class SavedViewForm(SavedSearchForm):
    """A name, and the query string of a table of the audit."""

    NOT_SAVABLE_TEXT = notice_text.VIEW_NOT_SAVABLE
    name = _make_name_field(notice_text.VIEW_NAME_REQUIRED)
    page = forms.ChoiceField(
        choices=[(page.value, page.label) for page in (SavedPage.AUDIT, SavedPage.DECISIONS)],
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.OPTION_REQUIRED),
    )

    @property
    def saved_page(self) -> SavedPage:
        """The table that the form names; that of questions for an unknown one."""
        is_decisions = self.data.get("page") == SavedPage.DECISIONS
        return SavedPage.DECISIONS if is_decisions else SavedPage.AUDIT
