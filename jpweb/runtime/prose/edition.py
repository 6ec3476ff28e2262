"""Which edition of all this rendered something: what was rendered before is known by it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from django.conf import settings

_LIBRARIES = ("comrak-ext", "nh3", "Pygments", "rich")
_FRAGMENT = "events/_part.html"


@cache
def edition() -> str:
    """Return a name that changes whenever the same text might be shown in another way."""
    made = hashlib.blake2b(digest_size=8)
    for name in _LIBRARIES:
        made.update(metadata.version(name).encode())
    template = settings.BASE_DIR / "templates" / _FRAGMENT
    for path in (*sorted(Path(__file__).parent.glob("*.py")), template):
        made.update(path.read_bytes())
    return made.hexdigest()


def tag(text: str, *which: str) -> str:
    """Return the strong ETag of what is shown of a text."""
    made = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    made.update("\n".join((edition(), *which)).encode())
    return f'"{made.hexdigest()}"'
