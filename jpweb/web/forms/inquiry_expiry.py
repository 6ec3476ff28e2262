"""Form of a workspace's question expiry: never, a preset time, or a custom one."""

from __future__ import annotations

from typing import Any

from django import forms

from jpweb.store.maintenance.inquiry_expiry import MAX_EXPIRY_SECONDS
from jpweb.web import display_text, notice_text
from jpweb.web.forms.fields import WholeNumberField

NEVER_OPTION, OTHER_OPTION = "never", "other"
PRESET_SECONDS = (15 * 60, 3_600, 8 * 3_600, 86_400, 3 * 86_400)
#: Units of a custom time, in ascending order.
UNIT_SECONDS = (60, 3_600, 86_400)


def _split_seconds(seconds: int) -> tuple[int, int]:
    """Return a time as a number of its largest whole unit, rounded up to minutes."""
    unit = max((unit for unit in UNIT_SECONDS if seconds % unit == 0), default=min(UNIT_SECONDS))
    return -(-seconds // unit), unit


class InquiryExpiryForm(forms.Form):
    """The expiry of new questions. The page hides ``number`` and ``unit`` but for a custom time."""

    after = forms.ChoiceField(
        choices=[
            (NEVER_OPTION, display_text.NEVER_EXPIRE_LABEL),
            *((seconds, display_text.describe_expiry(seconds)) for seconds in PRESET_SECONDS),
            (OTHER_OPTION, display_text.CUSTOM_EXPIRY_LABEL),
        ],
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.EXPIRY_REQUIRED),
    )
    number = WholeNumberField(
        min_value=1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value"), notice_text.EXPIRY_NUMBER_INVALID
        ),
    )
    unit = forms.TypedChoiceField(
        coerce=int,
        choices=[(seconds, display_text.UNIT_LABELS[seconds][1]) for seconds in UNIT_SECONDS],
        initial=3_600,
        error_messages={"required": notice_text.EXPIRY_UNIT_REQUIRED},
    )

    @classmethod
    def make_unbound(cls, seconds: int | None) -> InquiryExpiryForm:
        """Return the form of a workspace's setting, None for never."""
        if seconds is None or seconds in PRESET_SECONDS:
            return cls(initial={"after": seconds or NEVER_OPTION})
        number, unit = _split_seconds(seconds)
        return cls(initial={"after": OTHER_OPTION, "number": number, "unit": unit})

    def clean(self) -> dict[str, Any]:
        """Add the time as ``seconds``, None for never."""
        values = self.cleaned_data
        after = values.get("after", "")
        if after != OTHER_OPTION:
            for name in ("number", "unit"):
                self.errors.pop(name, None)
            return values | {"seconds": int(after) if after.isdigit() else None}
        seconds = values.get("number", 0) * values.get("unit", 0)
        if seconds > MAX_EXPIRY_SECONDS:
            self.add_error("number", notice_text.EXPIRY_OUT_OF_RANGE)
        return values | {"seconds": seconds}
