"""From and to JP's JSON (jp-storage-format, sections 6, 11 to 15).

* ``has_more``, ``split``, ``split_framed``, ``join``, ``join_part``: the array and the texts of
  its elements
* ``read``, ``write``: an element's text and what it is
* ``obstacles``: what a jp before RFD 082 could not open
"""

from jpweb.stream.wire.elements import read, write
from jpweb.stream.wire.framing import has_more, join, join_part, split, split_framed
from jpweb.stream.wire.older import Obstacle, obstacles

__all__ = [
    "Obstacle",
    "has_more",
    "join",
    "join_part",
    "obstacles",
    "read",
    "split",
    "split_framed",
    "write",
]
