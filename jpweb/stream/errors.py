"""What can be wrong with a stream.

* StreamError
  + NotAStream      the file as a whole cannot be read
  + BrokenElement   one element does not have the shape of its kind
  + Unfit           an answer does not fit the question's answer type
"""

from __future__ import annotations


class StreamError(Exception):
    """Base of everything this package raises."""


class NotAStream(StreamError):
    """The text is not a JSON array of elements; the message says where it breaks."""


class BrokenElement(StreamError):
    """An element of a known kind lacks a field or has one of the wrong type."""


class Unfit(StreamError):
    """The answer does not fit; the message tells the person what would."""
