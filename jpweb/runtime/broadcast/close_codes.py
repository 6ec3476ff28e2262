"""Close codes of WebSockets that the server and the page's script share."""

from __future__ import annotations

#: The page sent what no page of ours sends; it does not come back by itself.
MALFORMED_MESSAGE = 4400
#: The sign-in has ended, or the conversation is not theirs to read; it does not come back either.
SIGNED_OUT, FORBIDDEN = 4401, 4404
#: The page, or its person, sent more than is taken; it comes back after a while.
RATE_LIMITED = 4429
#: The person has too many sockets; the page comes back once somebody looks at it.
TOO_MANY_SOCKETS = 4430
#: A fault of ours. No browser is sent it: the server drops the connection, which is what lets the
#: page come back by itself.
SERVER_FAULT = 3011
