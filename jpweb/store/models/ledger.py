"""Models of the ledger: its entries, and its signed head."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class LedgerEntry(models.Model):
    """One act. ``text`` is its canonical JSON; the columns from ``act`` on derive from it.

    Keys are plain numbers, not foreign keys: an entry outlives the rows that it names. The first
    three columns of the chain are null or empty until the entry is sealed. A purged entry is a
    tombstone: ``text`` is empty, the hashes stay.
    """

    TABLE = "store_ledgerentry"

    sequence = models.PositiveBigIntegerField(null=True, unique=True, help_text="counts from 1")
    text_hash = models.CharField(max_length=64)
    chain_hash = models.CharField(max_length=64, blank=True)
    mac = models.CharField(  # noqa: DJ001  null adds no text to each sealed row
        max_length=64, null=True, help_text="see entry_macs; null in the chain"
    )
    text = models.TextField()
    act = models.CharField(max_length=30, help_text="a value of Act")
    at = models.DateTimeField()
    person_id = models.BigIntegerField(null=True, help_text="who acted, if a person")
    workspace_id = models.BigIntegerField(null=True)
    conversation_id = models.BigIntegerField(null=True)
    subject = models.CharField(max_length=100, blank=True, help_text="such as inquiry:7")

    class Meta:
        db_table = "store_ledgerentry"
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                condition=models.Q(sequence__isnull=True),
                name="ledger_entries_to_seal",
            ),
            models.Index(fields=["workspace_id", "-id"], name="ledger_by_workspace"),
            models.Index(fields=["conversation_id", "-id"], name="ledger_by_conversation"),
            models.Index(fields=["subject", "-id"], name="ledger_by_subject"),
            models.Index(fields=["person_id", "act", "-id"], name="ledger_by_person"),
            models.Index(fields=["act", "-at", "-id"], name="ledger_by_act"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence}: {self.act} {self.subject}"


class LedgerHead(models.Model):
    """The signed head: one row, which the transaction that seals entries locks."""

    #: The primary key of the only row.
    ROW_ID = 1

    sequence = models.PositiveBigIntegerField(default=0, help_text="of the last sealed entry")
    chain_hash = models.CharField(max_length=64)
    signed_at = models.DateTimeField(null=True)
    public_key = models.CharField(max_length=64, blank=True)
    signature = models.CharField(max_length=128, blank=True)
    frontier = models.JSONField(
        default=list, help_text="complete subtrees, largest first; none: signed before the tree"
    )

    def __str__(self) -> str:
        return f"head {self.sequence}"


class LedgerTile(models.Model):
    """A complete subtree of ``SIZE`` entries, so that proofs do not hash the ledger again."""

    #: Levels below a tile's root, and entries.
    LEVELS = 8
    SIZE = 1 << LEVELS

    number = models.PositiveBigIntegerField(unique=True, help_text="counts from 0")
    node_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"tile {self.number}"
