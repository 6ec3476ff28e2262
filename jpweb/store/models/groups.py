"""Models of groups: their members, and their roles in workspaces."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.models.accounts import Person, Workspace


class Group(models.Model):
    """People who get their roles in workspaces together."""

    name = models.CharField(max_length=150)
    maker = models.ForeignKey(
        Person,
        models.SET_NULL,
        null=True,
        related_name="groups_made",
        help_text="manages it while it has no role in any workspace",
    )
    made_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    """A person in a group."""

    group = models.ForeignKey(Group, models.CASCADE, related_name="members")
    person = models.ForeignKey(Person, models.CASCADE, related_name="group_memberships")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["group", "person"], name="once_in_a_group")
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.group}"


class GroupRole(models.Model):
    """The role that a group gives its members in a workspace."""

    group = models.ForeignKey(Group, models.CASCADE, related_name="roles")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="group_roles")
    role = models.PositiveSmallIntegerField(choices=Role.choices)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["group", "workspace"], name="one_group_role_a_workspace"
            )
        ]

    def __str__(self) -> str:
        return f"{self.group} in {self.workspace}: {self.get_role_display()}"
