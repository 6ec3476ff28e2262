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
    """Whether native conversations are also written into the workspace they belong to.

    With it, what people change about a mirrored one, such as its title, is written there too.
    """

    OFF = "off", "no: they stay in jpweb"
    CURRENT = "current", "yes, for a jp that knows RFD 082"
    COMPATIBLE = "compatible", "yes, readable for an older jp too"


class RunState(TextChoices):
    """How far a run is.

    ``queued``: nobody executes it yet; ``running``: its holder does; ``parked``: it waits for
    people and nobody executes it; ``lost``: it cannot go on.
    """

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


#: The states of a run that has not ended; a conversation has at most one such run.
UNFINISHED = (RunState.QUEUED, RunState.RUNNING, RunState.PARKED)


class RunPhase(TextChoices):
    """How far a turn is: hears the model, runs tool calls, waits for people, is over."""

    REPLYING = "replying"
    CALLING = "calling"
    WAITING = "waiting"
    OVER = "over"


class InterruptKind(TextChoices):
    """What a person says to a run."""

    STOP = "stop"
    RESTART = "restart"
    RESPOND = "respond"


class TrustKind(TextChoices):
    """What an owner can trust."""

    TOOL = "tool", "command of a tool"
    FORMATTER = "formatter", "command that shows a tool's arguments"
    SERVER = "server", "MCP server"
    PROVIDER = "provider", "address or key of a provider"


class PromptKind(TextChoices):
    """The prompts of RFD 018 that are no inquiries."""

    RUN = "run", "may this call run?"
    DELIVER = "deliver", "may the model see this result?"


class PromptState(TextChoices):
    """How far a prompt is; ``withdrawn``: its call ended before anybody decided."""

    OPEN = "open"
    DECIDED = "decided"
    WITHDRAWN = "withdrawn"
