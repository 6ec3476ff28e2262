"""QR codes as paths of SVG, which templates draw."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

#: Modules of white around the code, as ISO 18004 wants.
_BORDER_MODULES = 4


class QrCode(NamedTuple):
    """The side of a code and the path of its dark modules, both in modules."""

    size: int
    path: str


def draw_qr_code(text: str) -> QrCode:
    """Return the QR code of a text."""
    import segno  # noqa: PLC0415  40 ms, for one page

    rows = list(segno.make(text, micro=False).matrix_iter(border=_BORDER_MODULES))
    pieces = []
    for y, row in enumerate(rows):
        x = 0
        for is_dark, modules in groupby(row):
            width = len(list(modules))
            if is_dark:
                pieces.append(f"M{x} {y}h{width}v1h-{width}z")
            x += width
    return QrCode(len(rows), "".join(pieces))
