"""Django's migrations with less rendering of models, which takes four fifths of their time.

The server of ``tests/installing/test_upgrade.py`` migrates without this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.migrations import SeparateDatabaseAndState
from django.db.migrations.state import ProjectState
from django.db.models import Field

#: Where a field keeps itself and its constructor's arguments; a copy of it finds another field.
_ARGUMENTS = "_constructor_arguments"


@contextmanager
def rendering_less() -> Iterator[None]:
    """Migrate within this block as after ``render_less``."""
    clone, change_state = Field.clone, SeparateDatabaseAndState.state_forwards
    render_less()
    try:
        yield
    finally:
        Field.clone = clone  # type: ignore[method-assign]  # as it was
        SeparateDatabaseAndState.state_forwards = change_state  # type: ignore[method-assign]  # ditto


def render_less() -> None:
    """Let this process migrate with four fifths of the processor time, to the same tables."""
    Field.clone = _clone  # type: ignore[method-assign, assignment]  # for this process
    SeparateDatabaseAndState.state_forwards = _change_state  # type: ignore[method-assign, assignment]  # ditto


def _clone(field: Any) -> Any:
    """Return a copy of a field; the state of a model never changes its own ones."""
    if hasattr(field, "model"):
        _, _, args, kwargs = field.deconstruct()
        return type(field)(*args, **kwargs)
    owner, args, kwargs = field.__dict__.get(_ARGUMENTS, (None, (), {}))
    if owner is not field:
        _, _, args, kwargs = field.deconstruct()
        field.__dict__[_ARGUMENTS] = (field, args, kwargs)
    return type(field)(*args, **kwargs)


def _change_state(
    separation: SeparateDatabaseAndState, app_label: str, state: ProjectState
) -> None:
    """Change the state by all operations, and render models once instead of after each."""
    state.__dict__.pop("apps", None)
    for operation in separation.state_operations:
        operation.state_forwards(app_label, state)
