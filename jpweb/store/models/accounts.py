"""Models of people, workspaces, memberships, groups, sign-ins, and commands that owners trust."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models

from jpweb.store.choices import Density, Role, Theme, TrustKind, WritePolicy
from jpweb.store.database import clock

#: Root of the demo's workspace, independent of where jpweb is installed.
DEMO_ROOT = "demo"


class Person(AbstractUser):
    """An account that signs in, and how its pages look."""

    theme = models.CharField(
        max_length=10, choices=Theme.choices, default=Theme.SYSTEM, db_default=Theme.SYSTEM
    )
    density = models.CharField(
        max_length=15,
        choices=Density.choices,
        default=Density.COMFORTABLE,
        db_default=Density.COMFORTABLE,
    )
    is_welcomed = models.BooleanField(
        default=False, db_default=False, help_text="has closed the panel of the first visit"
    )
    hidden_demo_role = models.PositiveSmallIntegerField(
        null=True, help_text="their role in the demo, which they have hidden"
    )
    unseen_mention_count = models.PositiveIntegerField(default=0, db_default=0)
    is_notified_of_mentions = models.BooleanField(
        default=True, db_default=True, help_text="in their channels and browsers"
    )

    @property
    def display_name(self) -> str:
        return self.first_name or self.username


class Workspace(models.Model):
    """A JP workspace that is mirrored, or the demo that ships with jpweb."""

    jp_id = models.CharField(max_length=16, blank=True)
    copies_id = models.CharField(
        max_length=16,
        blank=True,
        default="",
        help_text="the id whose user-local copies are bound to this root",
    )
    has_silo = models.BooleanField(
        default=False, db_default=False, help_text="user-local copies bound to this root were read"
    )
    name = models.CharField(max_length=200)
    root = models.CharField(max_length=4096, unique=True)
    writing = models.CharField(max_length=10, choices=WritePolicy.choices, default=WritePolicy.OFF)
    expires_after = models.PositiveIntegerField(
        null=True, help_text="seconds after which a question nobody has settled expires"
    )
    overrides = models.TextField(blank=True, help_text="TOML that an owner lays over the files'")
    added_at = models.DateTimeField(default=clock.now)
    is_followed = models.BooleanField(
        default=True, db_default=True, help_text="changes of its files are mirrored"
    )
    reviews_required = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="by how many people, each blind to the other: 1 or 2"
    )

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a workspace: the one given to them and those of their groups."""

    person = models.ForeignKey(Person, models.CASCADE, db_index=False, related_name="memberships")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    direct_role = models.PositiveSmallIntegerField(
        choices=Role.choices, null=True, help_text="null: only groups give this person a role"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "workspace"], name="one_role_a_workspace")
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.workspace}: {self.get_role_display()}"


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
    """A person in a group, whom it lets into workspaces once they have accepted it."""

    group = models.ForeignKey(Group, models.CASCADE, db_index=False, related_name="members")
    person = models.ForeignKey(Person, models.CASCADE, related_name="group_memberships")
    inviter = models.ForeignKey(
        Person,
        models.SET_NULL,
        null=True,
        related_name="group_members_added",
        help_text="who added the person; null: unknown",
    )
    accepted_at = models.DateTimeField(null=True, help_text="null: not accepted yet")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["group", "person"], name="once_in_a_group")
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.group}"


class GroupRole(models.Model):
    """The role that a group gives its members in a workspace."""

    group = models.ForeignKey(Group, models.CASCADE, db_index=False, related_name="roles")
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


class Trust(models.Model):
    """A command or MCP server that an owner lets run, as it was shown to the owner.

    ``fingerprint`` is that of ``shown``; a command with another fingerprint is not trusted. With a
    ``conversation`` it holds there alone, for what the conversation stores of its own.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="trusted")
    conversation = models.ForeignKey(
        "store.Conversation", models.CASCADE, null=True, related_name="trusted"
    )
    kind = models.CharField(max_length=10, choices=TrustKind.choices)
    name = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    shown = models.TextField()
    trusted_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="trusts")
    trusted_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "name"],
                condition=models.Q(conversation__isnull=True),
                name="one_trust_a_thing",
            ),
            models.UniqueConstraint(
                fields=["conversation", "kind", "name"],
                condition=models.Q(conversation__isnull=False),
                name="one_trust_a_thing_there",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} in {self.workspace_id}"


class SignInLink(models.Model):
    """A one-time sign-in link. Only the hash of its token is stored."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="links")
    maker = models.ForeignKey(
        Person,
        models.CASCADE,
        null=True,
        related_name="links_made",
        help_text="who made it; null: the operator, by a command",
    )
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link for {self.person}"


class Invitation(models.Model):
    """An owner's offer of a role, accepted by the person who uses its link. It names no account.

    ``name`` is as the owner typed it; only the hash of the token is stored.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations")
    name = models.CharField(max_length=150)
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    inviter = models.ForeignKey(Person, models.CASCADE, related_name="invitations_made")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"invitation of {self.name} into {self.workspace_id}"


class SignIn(models.Model):
    """A session. ``key_hash`` is the hash of the cookie's key; the key is not stored.

    ``maker`` made the sign-in link of the session, where that was another person.
    """

    key_hash = models.CharField(max_length=64, primary_key=True)
    data = models.TextField()
    person = models.ForeignKey(Person, models.CASCADE, null=True, related_name="sign_ins")
    maker = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="sign_ins_made")
    began_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(default=clock.now, help_text="the last request")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"sign-in of {self.person_id}"


class Identity(models.Model):
    """An identity at an OpenID Connect provider, which signs its person in.

    ``is_own`` tells whether it was connected in a session of the person's own: one that no
    sign-in link of another person can have led to. ``maker`` made the link that led to the
    session, where that was another person.
    """

    person = models.ForeignKey(Person, models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255)
    email = models.CharField(max_length=254, blank=True, help_text="verified; as it was last told")
    is_own = models.BooleanField(default=False)
    maker = models.ForeignKey(Person, models.CASCADE, null=True, related_name="identities_led_to")
    connected_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_an_identity")
        ]

    def __str__(self) -> str:
        return f"identity of {self.person_id} at {self.issuer}"
