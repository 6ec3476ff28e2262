"""Form fields that take exactly the values of jpweb's addresses and the store."""

from __future__ import annotations

from typing import Any, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from jpweb.store.db_text import has_visible_character
from jpweb.web import converters, notice_text

FormClass = TypeVar("FormClass", bound=type[forms.BaseForm])


class _SharedFields(dict[str, forms.Field]):
    """The fields of a form's class; a deep copy is a dict of the same fields."""

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, forms.Field]:
        return dict(self)


def share_fields(form_class: FormClass) -> FormClass:
    """Have the instances of a form share its fields, which none of them may change.

    Copying the 14 of the audit's filters took 0.6 ms of processor time, a twentieth of its page.
    """
    shared_fields = _SharedFields(form_class.base_fields)  # type: ignore[attr-defined]  # no stub
    form_class.base_fields = shared_fields  # type: ignore[attr-defined]  # no stub
    return form_class


class TextField(forms.Field):
    """Text with LF as its line ends, without the space around it, cut to ``max_chars``.

    Browsers submit the line ends of a text area as CRLF. CharField refuses null characters, which
    the store replaces.
    """

    def __init__(self, *, max_chars: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_chars = max_chars

    def to_python(self, value: str | None) -> str:
        return (value or "").replace("\r\n", "\n").strip()[: self.max_chars]

    def validate(self, value: str) -> None:
        """Require a visible character of a required text."""
        super().validate(value if has_visible_character(value) else "")


class VisibleTextField(forms.CharField):
    """A required text of one line that has a visible character."""

    def validate(self, value: str) -> None:
        super().validate(value if has_visible_character(value) else "")


class TypedTextField(forms.Field):
    """Text as it was typed: an answer may begin with spaces, or be empty.

    The store and the answer types check it: some replace null characters, others refuse them. They
    replace CRLF by LF, too, but for a secret.
    """

    def __init__(self) -> None:
        super().__init__(required=False)

    def to_python(self, value: str | None) -> str:
        return value or ""


class TextListField(forms.Field):
    """The values of all checkboxes or hidden fields of one name."""

    widget = forms.SelectMultiple

    def __init__(self) -> None:
        super().__init__(required=False)

    def to_python(self, value: list[str] | None) -> list[str]:
        return list(value or [])


class WholeNumberField(forms.IntegerField):
    """A number of ASCII digits; IntegerField also takes underscores and digits of any script."""

    def to_python(self, value: Any) -> int | None:
        text = (value or "").strip()
        number = converters.parse_number(text, converters.MAX_KEY)
        if text and number is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return number


def make_key_field(name: str, label: str | None = None) -> WholeNumberField:
    """Make the field of a filter by the key of a row; its error names the parameter.

    ``label`` is that of the filter on the page, where it is not that of the name elsewhere.
    """
    return WholeNumberField(
        required=False,
        label=label,
        error_messages={"invalid": notice_text.KEY_INVALID.format(field=name)},
    )


class RowKeyForm(forms.Form):
    """The key of one row, in the field of this name; the store finds the row."""

    def __init__(self, params: QueryDict, field_name: str) -> None:
        super().__init__(params)
        self._field_name = field_name
        self.fields[field_name] = WholeNumberField(required=False)

    def read_key(self) -> int:
        """Return the key; 0, which no row has, for other text."""
        self.full_clean()
        return self.cleaned_data.get(self._field_name) or 0


def find_problem(form: forms.Form) -> str:
    """Return the first error of a form, "" for a valid one."""
    return next((str(problems[0]) for problems in form.errors.values()), "")
