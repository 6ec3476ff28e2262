"""Form of the search page's query, filters and order, in its address."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict

from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.store.search import query_parser
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text
from jpweb.web.forms.fields import TextField

#: Labels of outcomes, by value; that of open questions is the last.
_OUTCOME_LABELS = {
    tag: display_text.STATE_LABELS[tag][0]
    for tag in sorted(INQUIRY_STATES, key=lambda tag: tag == "open")
}
_REASON_LABELS = {reason.value: text for reason, text in outcome_texts.REASON_TEXTS.items()}
_SORT_LABELS = {
    "" if sort == "best" else sort: label for sort, label in display_text.SEARCH_SORT_LABELS.items()
}


def _make_choice_field(labels: Mapping[str, str]) -> TextField:
    """Make the field of a filter with known values; the parser reports an unknown one."""
    choices = [*({} if "" in labels else {"": "All"}).items(), *labels.items()]
    return TextField(required=False, widget=forms.Select(choices=choices))


def _make_text_field(max_chars: int = 200, placeholder: str = "") -> TextField:
    """Make a text field; its bound is the browser's alone, since the parser has its own."""
    attributes = {
        "autocomplete": "off",
        "autocapitalize": "off",
        "spellcheck": "false",
        "maxlength": max_chars,
    }
    attributes |= {"placeholder": placeholder} if placeholder else {}
    return TextField(required=False, widget=forms.TextInput(attributes))


class SearchFilterForm(forms.Form):
    """The filters that ``query_parser`` takes beside the query. It checks their values."""

    q = TextField(required=False)
    who = _make_text_field()
    tool = _make_text_field(placeholder="fs_read_file or fs")
    kind = _make_choice_field(display_text.SEARCH_KIND_LABELS)
    outcome = _make_choice_field(_OUTCOME_LABELS)
    reason = _make_choice_field(_REASON_LABELS)
    label = _make_text_field(300, "name or name=value")
    after = TextField(required=False)
    before = TextField(required=False)
    sort = _make_choice_field(_SORT_LABELS)

    def __init__(self, params: QueryDict) -> None:
        super().__init__(params, auto_id=False)
        self.fields["in"] = TextField(required=False)  # a keyword of Python
        self._keep_unknown_reason()

    def read_params(self) -> dict[str, str]:
        """Return the non-empty query parameters, and always ``q``."""
        self.full_clean()
        names = (*query_parser.FILTER_DESCRIPTIONS, "sort")
        filters = {name: self.cleaned_data[name] for name in names if self.cleaned_data[name]}
        return {"q": self.cleaned_data["q"], **filters}

    def _keep_unknown_reason(self) -> None:
        """Offer a reason that jpweb does not know; a newer jp may record one."""
        reason = self.data.get("reason", "").strip()
        widget = self.fields["reason"].widget
        if reason and reason not in _REASON_LABELS and isinstance(widget, forms.Select):
            label = outcome_texts.describe_reason(reason)
            widget.choices = [*widget.choices, (reason, label)]
