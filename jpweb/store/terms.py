"""The store's vocabularies, for those who may not import the models."""

from __future__ import annotations

from django.db.models import IntegerChoices, TextChoices


class Role(IntegerChoices):
    """What a person may do in a workspace; each includes the ones below."""

    READER = 10, "reader"
    RESPONDER = 20, "responder"
    AUDITOR = 30, "auditor"
    OWNER = 40, "owner"


class Origin(TextChoices):
    """Who owns a conversation: JP (``mirrored``, read-only here) or jpweb (``native``)."""

    MIRRORED = "mirrored"
    NATIVE = "native"


class Writing(TextChoices):
    """Whether native conversations are also written into the workspace they belong to."""

    OFF = "off", "no: they stay in jpweb"
    CURRENT = "current", "yes, for a jp that knows RFD 082"
    COMPATIBLE = "compatible", "yes, readable for an older jp too"


class RunState(TextChoices):
    """How far a run is. ``lost``: its process ended before the turn did."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
