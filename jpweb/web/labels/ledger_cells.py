"""The cells of exported entries of the ledger, each a row of the page *Ledger*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jpweb.store.ledger.listing import EntryBatch

if TYPE_CHECKING:
    from jpweb.store.models import LedgerEntry

#: The columns of a file, in their order.
COLUMNS = (
    "entry", "at", "state", "act", "label", "actor", "decided_by", "decider", "decider_id",
    "workspace", "details", "text_hash", "link",
)  # fmt: skip
#: The act of the last line, which counts the entries that are not in the file.
LEFT_OUT_ACT = "left_out"
_LEFT_OUT_TEXT = (
    "{count} other entries of the ledger: the filters leave them out, or you may not see them"
)
_PURGED_TEXT = "{count} other entries of the ledger: they were purged"
_PARTLY_PURGED_TEXT = (
    "{count} other entries of the ledger: {purged} of them were purged; the filters leave out the "
    "rest, or you may not see it"
)


def make_values(row: Mapping[str, Any], link: str) -> dict[str, Any]:
    """Return the values of a row of the page by column; ``details`` are by their label."""
    entry: LedgerEntry = row["entry"]
    return {
        "entry": entry.sequence,
        "at": entry.at.isoformat(),
        "state": _describe_state(entry, is_forged=row["is_forged"]),
        "act": entry.act,
        "label": row["act"],
        "actor": row["actor"] if entry.text and not row["is_forged"] else "",
        "decided_by": row["decider_kind"],
        "decider": row["decider_name"],
        "decider_id": row["decider_id"] or None,
        "workspace": row["workspace"],
        "details": dict(row["details"]),
        "text_hash": entry.text_hash,
        "link": link,
    }


def list_cells(values: Mapping[str, Any]) -> list[Any]:
    """Return the cells of a row of CSV."""
    details = ", ".join(f"{label} {value}" for label, value in values["details"].items())
    cells = dict(values) | {"details": details}
    return ["" if cells[name] is None else cells[name] for name in COLUMNS]


def make_last_line(batch: EntryBatch) -> dict[str, Any]:
    """Return the values of the line that counts the entries that are not in the file."""
    text = _LEFT_OUT_TEXT
    if batch.purged:
        text = _PURGED_TEXT if batch.purged == batch.left_out else _PARTLY_PURGED_TEXT
    purged_details = {"purged": batch.purged} if batch.purged else {}
    return dict.fromkeys(COLUMNS) | {
        "act": LEFT_OUT_ACT,
        "details": {"count": batch.left_out} | purged_details,
        "label": text.format(count=batch.left_out, purged=batch.purged),
    }


def _describe_state(entry: LedgerEntry, *, is_forged: bool) -> str:
    """Return whether an entry is chained, waits for that, was purged or was forged."""
    if is_forged:
        return "forged"
    if not entry.text:
        return "purged"
    return "new" if entry.sequence is None else "chained"
