"""Reads and writes JP's JSON (docs/jp-format.md, File text, Elements).

* ``has_more_elements``, ``split_array``, ``split_with_framing``, ``join_array``,
  ``join_array_part``: the array and the texts of its elements
* ``read_element``, ``write_element``: the text of one element and its value
* ``find_incompatibilities``: elements that a jp before RFD 082 cannot open
"""

from jpweb.stream.wire.codec import read_element, write_element
from jpweb.stream.wire.compatibility import Incompatibility, find_incompatibilities
from jpweb.stream.wire.framing import (
    has_more_elements,
    join_array,
    join_array_part,
    split_array,
    split_with_framing,
)

__all__ = [
    "Incompatibility",
    "find_incompatibilities",
    "has_more_elements",
    "join_array",
    "join_array_part",
    "read_element",
    "split_array",
    "split_with_framing",
    "write_element",
]
