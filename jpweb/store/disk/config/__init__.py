from __future__ import annotations

from jpweb.store.disk.config.files import EXTENDS, Files, read
from jpweb.store.disk.config.parsing import parse

__all__ = ["EXTENDS", "Files", "parse", "read"]
