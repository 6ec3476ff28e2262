"""Close codes of WebSockets that the server and the page's script share."""

from __future__ import annotations

#: The page sent a message that our script never sends; it does not reconnect.
MALFORMED_MESSAGE = 4400
#: The sign-in has ended, or the person may not read the conversation; it does not reconnect.
SIGNED_OUT, FORBIDDEN = 4401, 4404
#: The page, or its person, exceeded a rate limit; it reconnects after a delay.
RATE_LIMITED = 4429
#: The person has too many sockets; the page reconnects once it is visible.
TOO_MANY_SOCKETS = 4430
#: An internal error. Browsers never receive this code: the server aborts the connection, so that
#: the page reconnects.
SERVER_FAULT = 3011
