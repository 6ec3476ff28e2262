"""Lists to which each layer of a configuration may add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.layers import Strategy
from jpweb.agent.config.table_reader import TableReader


class LayeredList:
    """The entries of a list that layers add to; each with the table that it came in."""

    def __init__(self) -> None:
        self.entries: list[tuple[TableReader, int, Any]] = []
        self.discard = False
        self.has_dedup = False

    def add_layer(self, table: TableReader, key: str) -> None:
        """Join a layer's list with the entries of those below. Raises InvalidConfiguration."""
        value, strategy, discard = table.get(key), Strategy.APPEND, False
        if value is None:
            return
        if isinstance(value, Mapping):
            value_table = table.get_table(key)
            strategy = value_table.get_choice("strategy", Strategy) or strategy
            discard = value_table.get_flag("discard_when_merged") or False
            self._read_dedup(value_table)
            value, table, key = value_table.get("value"), value_table, "value"
        if not isinstance(value, list):
            raise table.make_error(key, "a list, or a table of value and strategy")
        above = [(table.make_child(key, {}), index, item) for index, item in enumerate(value)]
        below = [] if self.discard or strategy is Strategy.REPLACE else self.entries
        self.entries = above + below if strategy is Strategy.PREPEND else below + above
        self.discard = discard
        if self.has_dedup:
            self._drop_duplicates()

    def _read_dedup(self, table: TableReader) -> None:
        """Take over the flag; it stays for later layers that do not set it."""
        value = table.get("dedup")
        if value not in (None, True, False, "true", "false", "inherit"):
            raise table.make_error("dedup", "true, false or inherit")
        if value not in (None, "inherit"):
            self.has_dedup = value in (True, "true")

    def _drop_duplicates(self) -> None:
        entries: list[tuple[TableReader, int, Any]] = []
        for entry in self.entries:
            if not any(entry[2] == other[2] for other in entries):
                entries.append(entry)
        self.entries = entries
