"""The models that a conversation had, from its stored configuration and its runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jpweb.agent.config import providers
from jpweb.agent.config.layers import Layer, merge_values
from jpweb.agent.config.table_reader import TableReader
from jpweb.agent.errors import InvalidConfiguration
from jpweb.store import runs
from jpweb.store.masking.masks import load_conversation_masks
from jpweb.store.workspace_config.stored_config import read_stored_config

if TYPE_CHECKING:
    from jpweb.store.models import Conversation

#: The keys that decide which model is in effect.
_MODEL_PATHS = (("assistant", "model", "id"), ("providers", "llm", "aliases"))
#: The turn number of models in effect before the known turns.
BEFORE_TURNS = -1
#: The place in order of a change under which no turn began.
_AFTER_TURNS = 2**31


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model, and where it came into effect.

    ``anchor`` names the change of configuration, "" for the beginning and for a run;
    ``turn_number`` is that of the first turn under it, None where none began since.
    """

    provider: str
    name: str
    turn_number: int | None = None
    anchor: str = ""

    @property
    def model_id(self) -> str:
        return "/".join(filter(None, (self.provider, self.name)))


def list_models(
    conversation: Conversation, turn_starts: Sequence[tuple[datetime, int]]
) -> list[ModelUse]:
    """Return each model that came into effect, in order; neighbours differ.

    ``turn_starts`` has time and number of the turns to find a run's turn in, ascending. Nothing is
    on record where the conversation stores no model and has no run.
    """
    uses = [*_iter_stored_models(conversation), *_iter_run_models(conversation.pk, turn_starts)]
    uses.sort(key=lambda use: _AFTER_TURNS if use.turn_number is None else use.turn_number)
    return [
        use
        for index, use in enumerate(uses)
        if not index or use.model_id != uses[index - 1].model_id
    ]


def read_changed_model(delta: Mapping[str, Any]) -> str:
    """Return the id of the model that a change of configuration names; empty where it names none.

    An alias that another layer defines is not resolved: reading that layer took 11 to 19 ms a page.
    """
    model = _read_model(_pick_model_keys(delta))
    return "" if model is None else ModelUse(*model).model_id


def _iter_stored_models(conversation: Conversation) -> Iterable[ModelUse]:
    """Yield the models of the base and of each change that names a model, with known aliases."""
    stored_config = read_stored_config(conversation, load_conversation_masks(conversation.pk))
    merged_values: Mapping[str, Any] = _pick_model_keys(stored_config.base or {})
    model = _read_model(merged_values)
    if model is not None:
        yield ModelUse(*model, turn_number=BEFORE_TURNS)
    for change in stored_config.changes:
        picked_values = _pick_model_keys(change.delta)
        if not picked_values:
            continue
        merged_values = merge_values(merged_values, picked_values)
        model = _read_model(merged_values)
        if model is not None:
            yield ModelUse(*model, turn_number=change.turn_number, anchor=change.anchor)


def _iter_run_models(
    conversation_id: int, turn_starts: Sequence[tuple[datetime, int]]
) -> Iterable[ModelUse]:
    times = [started_at for started_at, _ in turn_starts]
    for started_at, provider, name in runs.list_models(conversation_id):
        index = bisect_right(times, started_at) - 1
        yield ModelUse(provider, name, turn_starts[index][1] if index >= 0 else BEFORE_TURNS)


def _pick_model_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values at ``_MODEL_PATHS`` alone; a base has hundreds of kilobytes of others."""
    picked_values: dict[str, Any] = {}
    for *tables, key in _MODEL_PATHS:
        source: Any = values
        for table in tables:
            source = source.get(table) if isinstance(source, Mapping) else None
        if not isinstance(source, Mapping) or source.get(key) is None:
            continue
        target = picked_values
        for table in tables:
            target = target.setdefault(table, {})
        target[key] = source[key]
    return picked_values


def _read_model(values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return provider and name of the model; None where it is not set or cannot be read."""
    root = TableReader.from_layers([Layer("stored configuration", values)])
    try:
        aliases = providers.read_aliases(root)
        model = providers.read_model(root.get_table("assistant").get_table("model"), aliases)
    except InvalidConfiguration:
        return None
    return None if model is None else (model.provider, model.name)
