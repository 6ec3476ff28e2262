"""Form of the conversation list's filters, order and cursor, in its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from jpweb.store.choices import Origin
from jpweb.store.conversation_list.filters import ListFilters, Sort
from jpweb.web.forms.fields import TextField, WholeNumberField
from jpweb.web.forms.filters import referrers

if TYPE_CHECKING:
    from jpweb.web.http import Request

#: Characters of a list's query string that the pages of its conversations pass on.
MAX_QUERY_CHARS = 1000
#: Characters of a parameter; no title, label or cursor is longer.
MAX_PARAM_CHARS = 600


class ConversationFilterForm(forms.Form):
    """Parameters of the list. An unknown value does not filter; the page names it."""

    q = TextField(required=False, max_chars=MAX_PARAM_CHARS)
    workspace = WholeNumberField(required=False)
    label = TextField(required=False, max_chars=MAX_PARAM_CHARS)
    archived = forms.BooleanField(required=False)
    origin = forms.TypedChoiceField(
        required=False, choices=Origin.choices, coerce=Origin, empty_value=None
    )
    has = forms.ChoiceField(required=False, choices=[(tag, tag) for tag in ("waiting", "problem")])
    sort = forms.TypedChoiceField(
        required=False,
        choices=[(sort.value, sort.name) for sort in Sort],
        coerce=Sort,
        empty_value=Sort.ACTIVITY,
    )
    before = TextField(required=False, max_chars=MAX_PARAM_CHARS)
    after = TextField(required=False, max_chars=MAX_PARAM_CHARS)

    def build_filters(self) -> ListFilters:
        """Return the filters of the known values."""
        self.full_clean()
        values = self.cleaned_data
        # Conversations with pending questions are always sorted by their waiting time.
        is_waiting = values.get("has") == "waiting"
        return ListFilters(
            words=values["q"],
            workspace=values.get("workspace"),
            label=values["label"],
            origin=values.get("origin"),
            archived=values["archived"],
            problem=values.get("has") == "problem",
            sort=Sort.WAITING if is_waiting else values.get("sort", Sort.ACTIVITY),
            before=values["before"],
            after=values["after"],
        )

    def list_unknown(self) -> list[str]:
        """Return the parameters with unknown values, as the address has them."""
        return [f"{name}={self.data[name][:MAX_PARAM_CHARS]}" for name in self.errors]


def find_list_query(request: Request) -> str:
    """Return the query string of the list from which a person came to a conversation.

    It is in the address after a step, and else in the referrer; the first page of all
    conversations is "".
    """
    if "list" in request.GET:
        return request.GET["list"][:MAX_QUERY_CHARS]
    return (referrers.find_query(request, "conversations") or "")[:MAX_QUERY_CHARS]
