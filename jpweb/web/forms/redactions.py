"""Form of a redaction: the strings to replace, the scope and the reason."""

from __future__ import annotations

from typing import Any

from django import forms

from jpweb.store.redaction.plans import (
    MAX_REASON_CHARS,
    MAX_STRINGS,
    MIN_STRING_CHARS,
    RedactionRequest,
)
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField

WHOLE_EVENT, STRINGS_IN_EVENT, STRINGS_IN_CONVERSATION = "whole", "event", "conversation"
SCOPES = (WHOLE_EVENT, STRINGS_IN_EVENT, STRINGS_IN_CONVERSATION)
#: Characters of all strings together.
_MAX_CHARS = 20_000


class RedactionForm(forms.Form):
    """``strings`` has one string a line; none may be empty or short."""

    scope = forms.ChoiceField(
        choices=[(name, name) for name in SCOPES],  # the page has their labels
        widget=forms.RadioSelect,
        initial=WHOLE_EVENT,
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), notice_text.REDACTION_SCOPE_REQUIRED
        ),
    )
    strings = forms.CharField(
        required=False,
        max_length=_MAX_CHARS,
        strip=False,
        error_messages={"max_length": notice_text.REDACTION_STRINGS_TOO_LONG},
    )
    reason = VisibleTextField(
        max_length=MAX_REASON_CHARS,
        error_messages={
            "required": notice_text.REDACTION_REASON_REQUIRED,
            "max_length": notice_text.REDACTION_REASON_TOO_LONG.format(limit=MAX_REASON_CHARS),
        },
    )

    def clean(self) -> dict[str, Any]:
        """Require strings where the scope is not the whole event."""
        values = self.cleaned_data
        lines = self._list_strings()
        if values.get("scope") in (STRINGS_IN_EVENT, STRINGS_IN_CONVERSATION):
            if not lines or any(len(line) < MIN_STRING_CHARS for line in lines):
                text = notice_text.REDACTION_STRING_TOO_SHORT.format(count=MIN_STRING_CHARS)
                self.add_error("strings", text)
            elif len(lines) > MAX_STRINGS:
                text = notice_text.REDACTION_TOO_MANY_STRINGS.format(limit=MAX_STRINGS)
                self.add_error("strings", text)
        return values

    def make_request(self, anchor: str) -> RedactionRequest:
        """Return the request of the valid form."""
        scope = self.cleaned_data["scope"]
        return RedactionRequest(
            anchor,
            self.cleaned_data["reason"],
            () if scope == WHOLE_EVENT else self._list_strings(),
            scope == STRINGS_IN_CONVERSATION,
        )

    def _list_strings(self) -> tuple[str, ...]:
        lines = (self.cleaned_data.get("strings") or "").splitlines()
        return tuple(dict.fromkeys(line for line in lines if line.strip()))
