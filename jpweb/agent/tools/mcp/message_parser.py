"""Parses the lines of an MCP server; of those that jpweb does not use, only the head.

The SDK parses each line into Python objects three or four times: 5 MB of nested lists took 1.7 to
5.7 s, in which no other thread runs. Their head, with the rest skipped in Rust, takes 0.02 to 0.1.
"""

from __future__ import annotations

import logging

from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import BaseModel
from pydantic_core import from_json

#: The notification that jpweb uses. Progress, logs and changed lists have nobody to read them.
_USED_NOTIFICATION = "notifications/cancelled"
#: Bytes of a server's request, such as a form; of a larger one the parameters are left out, so that
#: the SDK refuses it.
_MAX_REQUEST_BYTES = 2**20
#: Parts of a result, such as texts or tools. The SDK tries five models for each: 20,000 empty ones
#: took 0.8 s.
_MAX_PARTS = 5_000
logger = logging.getLogger(__name__)


class _Head(BaseModel):
    """The part of a message that says of which kind it is."""

    id: RequestId | None = None
    method: str | None = None


class MessageParser:
    """Parses lines; knows which requests of the session have no reply yet."""

    def __init__(self) -> None:
        self._awaited_ids: set[str] = set()

    def note_sent(self, message: SessionMessage) -> None:
        """Await the reply to a message that is a request."""
        if isinstance(message.message, JSONRPCRequest):
            self._awaited_ids.add(str(message.message.id))

    def parse_line(self, line: bytes) -> SessionMessage | None:
        """Return the message; None for one without a use, and for a line that is no message."""
        try:
            head = _Head.model_validate_json(line)
            message: JSONRPCMessage | None
            if head.method is None:
                message = self._parse_reply(head, line)
            elif head.id is None:
                message = _parse_notification(head.method, line)
            else:
                message = _parse_request(head.id, head.method, line)
        except ValueError as error:
            logger.debug("A line is no message: %s", type(error).__name__)
            return None
        return None if message is None else SessionMessage(message)

    def _parse_reply(self, head: _Head, line: bytes) -> JSONRPCResponse | JSONRPCError | None:
        if str(head.id) not in self._awaited_ids:
            return None
        self._awaited_ids.discard(str(head.id))
        fields = from_json(line)
        if "error" in fields:
            return JSONRPCError.model_validate(fields)
        reply = JSONRPCResponse.model_validate(fields)
        if any(isinstance(part, list) and len(part) > _MAX_PARTS for part in reply.result.values()):
            error = ErrorData(
                code=INTERNAL_ERROR, message=f"its result has more than {_MAX_PARTS:,} parts"
            )
            return JSONRPCError(jsonrpc="2.0", id=reply.id, error=error)
        return reply


def _parse_notification(method: str, line: bytes) -> JSONRPCNotification | None:
    if method != _USED_NOTIFICATION:
        return None
    return JSONRPCNotification.model_validate(from_json(line))


def _parse_request(request_id: RequestId, method: str, line: bytes) -> JSONRPCRequest:
    if len(line) > _MAX_REQUEST_BYTES:
        return JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method)
    return JSONRPCRequest.model_validate(from_json(line))
