"""Forms of signing in and joining: a code, a passkey, and an invited person's credentials."""

from __future__ import annotations

from django import forms

from jpweb.store.people.passkeys import MAX_NAME_CHARACTERS
from jpweb.web.forms.fields import TextField, TextListField, TypedTextField


class CodeForm(forms.Form):
    """The code of a link or of a second factor, which the store checks."""

    code = TypedTextField()

    def read_code(self) -> str:
        """Return the code as it was typed, "" without one."""
        self.full_clean()
        code: str = self.cleaned_data["code"]
        return code


class InvitationCodeForm(CodeForm):
    """The code of an invitation, and the keys of the passkeys and identities to keep."""

    keep = TextListField()

    @property
    def is_acceptance(self) -> bool:
        """Whether the form joins; else it asks to see the invitation."""
        return bool(self.data.get("do") == "join")

    @property
    def is_refusal(self) -> bool:
        """Whether the form declines the invitation."""
        return bool(self.data.get("do") == "decline")

    def list_kept_keys(self) -> list[str]:
        """Return the keys of the credentials that the person keeps."""
        self.full_clean()
        kept_keys: list[str] = self.cleaned_data["keep"]
        return kept_keys


class PasskeyForm(forms.Form):
    """An authenticator's reply, which the server verifies, and a passkey's name."""

    name = TextField(required=False, max_chars=MAX_NAME_CHARACTERS)
    credential = TypedTextField()

    def read_values(self) -> tuple[str, str]:
        """Return the name and the reply."""
        self.full_clean()
        return self.cleaned_data["name"], self.cleaned_data["credential"]
