"""Errors of reading a stream.

* StreamError
  + MalformedStream   the file as a whole cannot be read
  + MalformedElement  one element does not have the shape of its kind
  + InvalidAnswer     an answer does not match the question's answer type
"""

from __future__ import annotations


class StreamError(Exception):
    """Base class of this package's errors."""


class MalformedStream(StreamError):
    """The text is not a JSON array of elements; the message names the place of the error."""


class MalformedElement(StreamError):
    """An element of a known kind lacks a field or has one of the wrong type."""


class InvalidAnswer(StreamError):
    """The answer does not match its type; the message tells the person which answers do."""
