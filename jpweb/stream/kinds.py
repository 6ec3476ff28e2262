"""What every event kind says of itself. The list of the kinds is in ``events``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from jpweb.stream.fields import Fields


@dataclass(frozen=True, slots=True)
class Kind(ABC):
    """A kind: its wire tag, who may see it, and how it is read and written."""

    TAG: ClassVar[str]
    #: True where a provider may see it. An allow-list: who says nothing stays invisible.
    PROVIDER_VISIBLE: ClassVar[bool] = False
    #: True for what lies over the stream instead of happening in a turn.
    OVERLAY: ClassVar[bool] = False
    #: The fields whose strings are base64 on disk.
    ENCODED: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the kind's own fields, decoded. Raises BrokenElement."""

    @abstractmethod
    def to_fields(self) -> dict[str, Any]:
        """Return the kind's own fields in the order that JP writes them."""
