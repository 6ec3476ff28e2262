"""Forms of settings: a person's appearance; a workspace's folder, writing and overrides."""

from __future__ import annotations

from django import forms

from jpweb.store.choices import Density, Theme, WritePolicy
from jpweb.web import notice_text
from jpweb.web.forms.fields import TypedTextField

_OPTION_ERRORS = dict.fromkeys(("required", "invalid_choice"), notice_text.OPTION_REQUIRED)


class AppearanceForm(forms.Form):
    """The theme and the density of a person's pages."""

    theme = forms.TypedChoiceField(
        choices=Theme.choices, coerce=Theme, error_messages=_OPTION_ERRORS
    )
    density = forms.TypedChoiceField(
        choices=Density.choices, coerce=Density, error_messages=_OPTION_ERRORS
    )


class WritePolicyForm(forms.Form):
    """Whether jpweb also writes its conversations into the workspace."""

    writing = forms.TypedChoiceField(
        choices=WritePolicy.choices, coerce=WritePolicy, error_messages=_OPTION_ERRORS
    )


class AdditionForm(forms.Form):
    """The folder of a workspace on the server, and its name; the store checks both."""

    folder = TypedTextField()
    name = TypedTextField()


class OverridesForm(forms.Form):
    """Overrides as TOML, and the hash of those that the page showed; the store checks both."""

    overrides = TypedTextField()
    overrides_hash = TypedTextField()
