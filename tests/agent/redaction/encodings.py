"""How programs repeat a secret, by name: what is taken out of all that a tool says."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus


def _bytes(secret: str, mark: str, separator: str = "") -> str:
    return separator.join(f"{mark}{byte:02x}" for byte in secret.encode())


def _nested(secret: str) -> str:
    return json.dumps({"inner": json.dumps({"inner": json.dumps(secret)})})


ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "json": json.dumps,
    "json as it is": lambda secret: json.dumps(secret, ensure_ascii=False),
    "json in json in json": _nested,
    "json escapes of all": lambda secret: "".join(rf"\u{ord(char):04x}" for char in secret),
    "python": repr,
    "html": html.escape,
    "html between tags": lambda secret: html.escape(secret, quote=False),
    "html by others": lambda secret: html.escape(secret).replace("&#x27;", "&#39;"),
    "html by numbers": lambda secret: "".join(f"&#{ord(char)};" for char in secret),
    "html by hexadecimals": lambda secret: "".join(f"&#x{ord(char):X};" for char in secret),
    "path": quote,
    "form": quote_plus,
    "query": lambda secret: quote(secret, safe=""),
    "query by others": lambda secret: re.sub("%..", lambda hex_: hex_[0].lower(), quote(secret)),
    "percent for all": lambda secret: _bytes(secret, "%"),
    "percent for all in capitals": lambda secret: _bytes(secret, "%").upper(),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal in capitals": lambda secret: secret.encode().hex().upper(),
    "hexadecimal with colons": lambda secret: _bytes(secret, "", ":"),
    "hexadecimal with spaces": lambda secret: _bytes(secret, "", " "),
    "escaped bytes": lambda secret: _bytes(secret, r"\x"),
    "backwards": lambda secret: secret[::-1],
    "backwards in json": lambda secret: json.dumps(secret[::-1]),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 of a line": lambda secret: base64.b64encode(f"{secret}\n".encode()).decode(),
    "base64 of urls": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
    "base32": lambda secret: base64.b32encode(secret.encode()).decode(),
    "base32 in small letters": lambda secret: base64.b32encode(secret.encode()).decode().lower(),
}
