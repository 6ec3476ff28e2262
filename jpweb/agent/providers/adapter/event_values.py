"""Reads the JSON that models write into values that an event can hold."""

from __future__ import annotations

import json
from typing import Any

from jpweb.agent.providers.adapter.surrogates import join_value_surrogates
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import check_storable


def parse_event_value(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError where it is none that an event can hold.

    The json module also reads numbers that are not finite.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return make_event_value(value)


def make_event_value(value: Any) -> Any:
    """Return a parsed value with whole characters. Raises ValueError where no event can hold it."""
    try:
        check_storable({"field": value})
    except MalformedElement as error:
        raise ValueError(str(error)) from error
    return join_value_surrogates(value)
