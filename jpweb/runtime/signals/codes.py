"""Close codes of sockets that both ends of the server know."""

from __future__ import annotations

#: A fault of ours. No browser is sent it: the server drops the connection, which is what lets the
#: page come back by itself.
FAULT = 3011
