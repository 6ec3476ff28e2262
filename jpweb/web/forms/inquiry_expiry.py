"""Form of a workspace's question expiry: never, a preset time, or a custom one."""

from __future__ import annotations

from typing import Any

from django import forms

from jpweb.store.maintenance.inquiry_expiry import MAX_EXPIRY_SECONDS
from jpweb.web.forms.fields import WholeNumberField

NEVER_OPTION, OTHER_OPTION = "never", "other"
PRESET_SECONDS = (15 * 60, 3_600, 8 * 3_600, 86_400, 3 * 86_400)
#: Units of a custom time by their seconds, in ascending order.
UNIT_NAMES = {60: "minute", 3_600: "hour", 86_400: "day"}


def format_expiry(seconds: int) -> str:
    """Return a time in its largest whole unit, rounded up to minutes."""
    number, unit = _split_seconds(seconds)
    return f"{number} {UNIT_NAMES[unit]}{'' if number == 1 else 's'}"


def _split_seconds(seconds: int) -> tuple[int, int]:
    """Return a time as a number of its largest whole unit, rounded up to minutes."""
    unit = max((unit for unit in UNIT_NAMES if seconds % unit == 0), default=min(UNIT_NAMES))
    return -(-seconds // unit), unit


class InquiryExpiryForm(forms.Form):
    """The expiry of new questions. The page hides ``number`` and ``unit`` but for a custom time."""

    after = forms.ChoiceField(
        choices=[
            (NEVER_OPTION, "Never expire (default)"),
            *((seconds, f"Expire after {format_expiry(seconds)}") for seconds in PRESET_SECONDS),
            (OTHER_OPTION, "Custom"),
        ],
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), "Choose when questions expire."
        ),
    )
    number = WholeNumberField(
        min_value=1,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value"), "Enter a whole number of minutes, hours or days."
        ),
    )
    unit = forms.TypedChoiceField(
        coerce=int,
        choices=[(seconds, f"{name}s") for seconds, name in UNIT_NAMES.items()],
        initial=3_600,
        error_messages={"required": "Choose a unit."},
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
            self.add_error("number", "The custom time can be from 1 minute to 366 days.")
        return values | {"seconds": seconds}
