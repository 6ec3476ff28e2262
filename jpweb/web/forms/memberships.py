"""Forms of a workspace's members: a role, and an invitation."""

from __future__ import annotations

from django import forms

from jpweb.store.choices import Role
from jpweb.store.people.names import MAX_NAME_CHARACTERS
from jpweb.web import notice_text
from jpweb.web.forms.fields import VisibleTextField


class RoleForm(forms.Form):
    """A member's role."""

    role = forms.TypedChoiceField(
        choices=[(role.value, role.label.capitalize()) for role in Role],
        coerce=lambda value: Role(int(value)),
        error_messages=dict.fromkeys(("required", "invalid_choice"), notice_text.ROLE_REQUIRED),
    )


class OptionalRoleForm(forms.Form):
    """A group's role in a workspace; empty for none."""

    role = forms.TypedChoiceField(
        required=False,
        choices=[("", ""), *((role.value, role.label.capitalize()) for role in Role)],
        coerce=lambda value: Role(int(value)),
        empty_value=None,
        error_messages={"invalid_choice": notice_text.ROLE_REQUIRED},
    )


class GroupForm(forms.Form):
    """The name of a new group; the store checks it."""

    name = VisibleTextField(
        widget=forms.TextInput({"maxlength": MAX_NAME_CHARACTERS, "autocomplete": "off"}),
        error_messages={"required": notice_text.NAME_REQUIRED},
    )


class InvitationForm(RoleForm):
    """The name and the role of a person to invite; the store checks the name."""

    field_order = ("name", "role")
    name = VisibleTextField(
        widget=forms.TextInput({"maxlength": MAX_NAME_CHARACTERS, "autocomplete": "off"}),
        error_messages={"required": notice_text.NAME_REQUIRED},
    )
