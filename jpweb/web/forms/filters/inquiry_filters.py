"""Forms of the audit's filters, in its address."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict

from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.web import notice_text
from jpweb.web.forms.fields import TextField, make_key_field, share_fields
from jpweb.web.forms.filters import referrers
from jpweb.web.labels import audit_labels

if TYPE_CHECKING:
    from jpweb.web.http import Request


def _make_day_field(name: str) -> forms.DateField:
    return forms.DateField(
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput({"type": "date"}),
        error_messages={"invalid": notice_text.DATE_INVALID.format(field=name)},
    )


#: The filters that questions, their charts and decisions share.
SHARED_FILTERS = (
    "workspace", "conversation", "identifier", "demo", "tool", "words", "decided", "since", "until"
)  # fmt: skip
#: Parameters of the table beside its filters: the order, and where the page begins.
PLACE_PARAMS = ("sort", "before", "at")
#: Characters of the table's query string that the page of a question passes on.
MAX_QUERY_CHARS = 2000


def format_decision_query(query: Mapping[str, str]) -> str:
    """Return the filters of decisions that an address of questions or charts has.

    Among questions ``person`` is the decider's name, which ``account`` narrows; among decisions
    ``decider`` is the name and ``person`` the account.
    """
    params = {name: query[name] for name in SHARED_FILTERS if name in query}
    if query.get("person"):
        params["decider"] = query["person"]
        if query.get("account"):
            params["person"] = query["account"]
    return urlencode(params)


def format_question_query(query: Mapping[str, str], account_names: Mapping[int, str]) -> str:
    """Return the filters of questions that an address of decisions has.

    An account without a name in the address gets its own: an account alone filters no questions.
    """
    params = {name: query[name] for name in SHARED_FILTERS if name in query}
    account, name = query.get("person", ""), query.get("decider", "")
    if account and not name:
        key = int(account) if account.isdecimal() else 0
        name = account_names.get(key, f"account {account}")
    values = {"person": name, "account": account}
    return urlencode(params | {name: value for name, value in values.items() if value})


class PeriodForm(forms.Form):
    """The days ``since`` and ``until`` of a filter, both inclusive; UTC."""

    since = _make_day_field("since")
    until = _make_day_field("until")

    def clean_since(self) -> datetime | None:
        """Return the beginning of the day."""
        day: date | None = self.cleaned_data["since"]
        return datetime.combine(day, time.min, UTC) if day else None

    def clean_until(self) -> datetime | None:
        """Return the end of the day; None for the last one, which no day follows."""
        day: date | None = self.cleaned_data["until"]
        if day is None or day == date.max:
            return None
        return datetime.combine(day + timedelta(days=1), time.min, UTC)

    def clean(self) -> dict[str, Any]:
        """Return the filters; a period that ends before it begins is none."""
        filters = super().clean() or self.cleaned_data
        since, until = filters.get("since"), filters.get("until")
        if since and until and since >= until:
            self.add_error("until", notice_text.PERIOD_REVERSED)
            del filters["since"]
        return filters


@share_fields
class InquiryFilterForm(PeriodForm):
    """The fields of ``AuditFilters``; ``cleaned_data`` holds those that are valid."""

    outcome = forms.ChoiceField(
        required=False,
        choices=[(state, state) for state in INQUIRY_STATES],
        error_messages={
            "invalid_choice": notice_text.OUTCOME_UNKNOWN.format(states=", ".join(INQUIRY_STATES))
        },
    )
    workspace = make_key_field("workspace")
    conversation = make_key_field("conversation")
    demo = forms.BooleanField(required=False)
    tool = TextField(required=False)
    words = TextField(required=False)
    identifier = TextField(required=False)
    reason = TextField(required=False)
    source = TextField(required=False)
    person = TextField(required=False, label="decided by")
    account = make_key_field("account")
    decided = forms.ChoiceField(
        required=False,
        choices=tuple(audit_labels.DECIDER_KIND_LABELS.items()),
        error_messages={"invalid_choice": notice_text.DECIDER_KIND_UNKNOWN},
    )

    def clean(self) -> dict[str, Any]:
        """Return the filters; an account counts within the rows of a name alone."""
        filters = super().clean()
        return filters if filters.get("person") else {**filters, "account": None}


def find_audit_query(request: Request) -> str | None:
    """Return the query string of the table from which a person came to a question; None of others.

    It is in the address after a form of the question's page, and else in the referrer. It has the
    table's own parameters alone, so that it leads to the table wherever it comes from.
    """
    query = request.GET.get("audit")
    if query is None:
        query = referrers.find_query(request, "audit")
    if query is None:
        return None
    params = QueryDict(query[:MAX_QUERY_CHARS])
    names = (*InquiryFilterForm.base_fields, *PLACE_PARAMS)
    return urlencode({name: params[name] for name in names if params.get(name)})
