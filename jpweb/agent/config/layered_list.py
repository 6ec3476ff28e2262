"""Lists to which each layer of a configuration may add."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from jpweb.agent.config.layers import JoinedList, Strategy, join_items
from jpweb.agent.config.table_reader import TableReader

Entry: TypeAlias = tuple[TableReader, int, Any]
_get_item = itemgetter(2)


class LayeredList:
    """The entries of a list that layers add to; each with the table that it came in."""

    def __init__(self) -> None:
        self._joined: list[Entry] = []
        self.discard = False
        self.has_dedup = False

    @property
    def entries(self) -> list[Entry]:
        """The entries of all layers."""
        joined_items = self._joined
        return (
            joined_items.read_items(_get_item)
            if isinstance(joined_items, JoinedList)
            else joined_items
        )

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
        parent = table.make_child(key, {})
        layer_items = [(parent, index, item) for index, item in enumerate(value)]
        self._joined = join_items(
            [] if self.discard or strategy is Strategy.REPLACE else self._joined,
            layer_items,
            is_prepended=strategy is Strategy.PREPEND,
            is_distinct=self.has_dedup,
            get_value=_get_item,
        )
        self.discard = discard

    def _read_dedup(self, table: TableReader) -> None:
        """Take over the flag; it stays for later layers that do not set it."""
        value = table.get("dedup")
        if value not in (None, True, False, "true", "false", "inherit"):
            raise table.make_error("dedup", "true, false or inherit")
        if value not in (None, "inherit"):
            self.has_dedup = value in (True, "true")
