"""ETags of rendered content, which change with the renderer's version."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

from django.conf import settings

_LIBRARIES = ("comrak-ext", "nh3", "Pygments", "rich")
_FRAGMENT_TEMPLATE = "events/_payload_part.html"


@cache
def get_render_version() -> str:
    """Return a digest that changes whenever the same text might render differently."""
    digest = hashlib.blake2b(digest_size=8)
    for name in _LIBRARIES:
        digest.update(metadata.version(name).encode())
    template = settings.BASE_DIR / "templates" / _FRAGMENT_TEMPLATE
    for path in (*sorted(Path(__file__).parent.glob("*.py")), template):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_etag(text: str, *variants: str) -> str:
    """Return the strong ETag of a rendered text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update("\n".join((get_render_version(), *variants)).encode())
    return f'"{digest.hexdigest()}"'
