"""Models of runs: their approvals, interrupts, checkpoints, heartbeats and task leases."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models

from jpweb.store.choices import (
    UNFINISHED_STATES,
    ApprovalKind,
    ApprovalState,
    InterruptKind,
    RunPhase,
    RunState,
)
from jpweb.store.database import clock
from jpweb.store.models.accounts import Person, Workspace
from jpweb.store.models.conversations import Conversation

#: Seconds after which a run that was queued again counts as waiting: most are taken up at once, and
#: the status of pages would flicker after each answer.
_REQUEUE_SECONDS = 5


def compute_latest_wait() -> datetime:
    """Return the time before which a run was queued that waits for a worker now."""
    return clock.now() - timedelta(seconds=_REQUEUE_SECONDS)


class Run(models.Model):
    """A turn that jpweb executes.

    ``fence`` (fencing token) grows with each acquisition; writes with an older one are refused.
    The lease expires at ``lease_until``, by the database's clock.
    """

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="runs"
    )
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.QUEUED)
    phase = models.CharField(
        max_length=10, choices=RunPhase.choices, default=RunPhase.REPLYING, blank=True
    )
    provider = models.CharField(max_length=50)
    model = models.CharField(max_length=200, blank=True)
    holder = models.CharField(max_length=150, blank=True, help_text="the process, while running")
    lease_until = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    queued_at = models.DateTimeField(null=True, help_text="since when nobody executes it, if so")
    death_count = models.PositiveSmallIntegerField(
        default=0, help_text="processes that ended since it last got anywhere"
    )
    expired_holders = models.TextField(
        blank=True,
        default="",
        help_text="processes whose lease ran out since it last got anywhere, a line each",
    )
    resume_count = models.PositiveSmallIntegerField(
        default=0, help_text="how often after a process ended"
    )
    restart_position = models.PositiveIntegerField(
        default=0, db_default=0, help_text="length of the journal when a person restarted its calls"
    )
    takeover_position = models.PositiveIntegerField(
        default=0, db_default=0, help_text="the same, when its calls were last taken over"
    )
    problem = models.CharField(max_length=1000, blank=True)
    failure = models.CharField(max_length=20, blank=True, help_text="kind of a provider's failure")
    started_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="runs")
    started_at = models.DateTimeField(default=clock.now)
    ended_at = models.DateTimeField(null=True)
    turn_number = models.PositiveIntegerField(null=True, help_text="counts from 0")
    request_count = models.PositiveIntegerField(
        default=0, db_default=0, help_text="requests that the provider began to answer"
    )
    reported_count = models.PositiveIntegerField(
        default=0, db_default=0, help_text="of these, those whose tokens it reported"
    )
    input_tokens = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="as reported, cached ones included"
    )
    output_tokens = models.PositiveBigIntegerField(default=0, db_default=0)
    cache_read_tokens = models.PositiveBigIntegerField(default=0, db_default=0)
    cache_write_tokens = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=models.Q(state__in=UNFINISHED_STATES),
                name="one_run_a_conversation",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["state", "lease_until"]),
            models.Index(fields=["conversation", "-id"]),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.conversation_id}: {self.state}"

    @property
    def is_unfinished(self) -> bool:
        """Whether it has not ended."""
        return self.state in UNFINISHED_STATES

    @property
    def is_waiting_for_worker(self) -> bool:
        """Whether no process has taken it up, at first or for some seconds since it was queued."""
        if self.state != RunState.QUEUED:
            return False
        return not self.fence or (
            self.queued_at is not None and self.queued_at < compute_latest_wait()
        )

    @property
    def has_failed(self) -> bool:
        """Whether it failed or was lost."""
        return self.state in (RunState.FAILED, RunState.LOST)

    def can_be_retried(self, turn_count: int) -> bool:
        """Tell whether it failed or was lost, and its turn is the last of so many."""
        return self.has_failed and not self.is_overtaken(turn_count)

    def is_overtaken(self, turn_count: int) -> bool:
        """Tell whether another turn followed the run's, in a conversation of ``turn_count``."""
        return self.turn_number is not None and self.turn_number + 1 < turn_count


class Approval(models.Model):
    """A permission or delivery prompt of a run (RFD 018). No inquiry: in no journal.

    ``subject`` is what the person decides about: arguments, or a result; ``decision`` their choice.
    ``was_applied``: the decision is spent, by the call or by its end.
    """

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="approvals"
    )
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, null=True, db_index=False, related_name="approvals"
    )
    run = models.ForeignKey(
        Run, models.CASCADE, null=True, related_name="approvals", help_text="null: imported"
    )
    kind = models.CharField(max_length=10, choices=ApprovalKind.choices)
    tool_call_id = models.TextField()
    tool_name = models.CharField(max_length=200)
    subject = models.JSONField()
    state = models.CharField(
        max_length=10, choices=ApprovalState.choices, default=ApprovalState.OPEN
    )
    digest = models.CharField(max_length=64, blank=True, help_text="of what is shown")
    decision = models.JSONField(null=True)
    was_applied = models.BooleanField(
        default=False, help_text="the call went on with the decision, or ended without it"
    )
    decider = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="approvals")
    decider_name = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField(default=clock.now)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["state", "conversation"]),
            models.Index(fields=["workspace", "state", "asked_at"]),
            models.Index(fields=["-settled_at", "-id"], name="approvals_by_settlement"),
            models.Index(fields=["conversation", "asked_at"], name="approvals_of_conversation"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.tool_name}: {self.state}"


class ApprovalClaim(models.Model):
    """A person works on an open approval, until a time; others may still decide it."""

    approval = models.OneToOneField(Approval, models.CASCADE, related_name="+")
    person = models.ForeignKey(Person, models.CASCADE, related_name="approval_claims")
    claimed_at = models.DateTimeField()
    until = models.DateTimeField(help_text="the claim lapses")

    def __str__(self) -> str:
        return f"{self.person_id} is on {self.approval_id}"


class RunInterrupt(models.Model):
    """An interrupt that a person sent to a run; ``handled_at`` is set once the turn handled it."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="interrupts")
    kind = models.CharField(max_length=10, choices=InterruptKind.choices)
    text = models.TextField(blank=True)
    person = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="interrupts")
    person_name = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(default=clock.now)
    handled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.kind} sent to run {self.run_id}"


class CallCheckpoint(models.Model):
    """The result of a tool call, until its response is in the journal.

    ``content`` is null without a result; ``delivered`` is false while a person has yet to let the
    model see it; ``was_cut_off``: the call was running when an earlier process ended;
    ``policies``: notes of the policies that decided in place of a person.
    """

    run = models.ForeignKey(Run, models.CASCADE, db_index=False, related_name="checkpoints")
    tool_call_id = models.TextField()
    content = models.TextField(null=True)  # noqa: DJ001  an empty result is one
    is_error = models.BooleanField()
    edited = models.JSONField(null=True)
    delivered = models.BooleanField()
    was_cut_off = models.BooleanField()
    policies = models.JSONField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "tool_call_id"], name="one_result_a_call")
        ]

    def __str__(self) -> str:
        return f"result of {self.tool_call_id} of run {self.run_id}"


class Heartbeat(models.Model):
    """The last heartbeat of a process that executes runs."""

    process = models.CharField(max_length=150, unique=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.process}: {self.seen_at}"


class TaskLease(models.Model):
    """A lease by name, such as a periodic task's: one process at a time holds it."""

    name = models.CharField(max_length=50, unique=True)
    holder = models.CharField(max_length=150)
    lease_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.holder}"
