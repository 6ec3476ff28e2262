"""A conversation with one payload of each look."""

from __future__ import annotations

import json

from jpweb.stream import base64_fields
from jpweb.stream.events import ChatRequest, ChatResponse, Element, TurnStart
from tests.builders import make_call, make_element, make_result, stream

PAYLOADS_TITLE = "What tools gave back"
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old = 1\n+new = 2\n same\n"
INKS = "".join(f"\x1b[{n}m{n} \x1b[{n + 10}m on \x1b[0m" for n in (*range(30, 38), *range(90, 98)))
TERMINAL = (
    f"{INKS}\n\x1b[1mbold\x1b[0m \x1b[2mdim\x1b[0m \x1b[3mslanted\x1b[0m \x1b[7mturned\x1b[0m\n"
)
CODE = (
    '@cache\ndef f(a: int) -> str:  # why\n    return "x" + str(1.5)\n\n\nclass A:\n    b = None\n'
)
HTML = "<a href='x'>&amp;</a><!-- c -->\n"
SPOKEN = f"Look:\n\n```python\n{CODE}```\n\n```html\n{HTML}```\n\n```diff\n{DIFF}```\n"
LINES = "".join(f"line {n}\n" for n in range(3000))


def make_payloads() -> list[Element]:
    """Return the conversation."""
    metadata = {"rendered_arguments": base64_fields.encode_text(TERMINAL)}
    return stream(
        TurnStart(),
        ChatRequest("Show me *everything*."),
        ChatResponse("message", SPOKEN),
        make_call("a", "write", path="src/x.py", content=CODE, count=3, deep={"a": [1, None, "x"]}),
        make_result("a", DIFF),
        make_element(make_call("b", "run", command="make"), metadata=metadata),
        make_result("b", TERMINAL),
        make_call("c", "fetch", url="https://a.example"),
        make_result("c", json.dumps({"k": ["s", 1, True]})),
        make_call("d", "read", path="x.txt"),
        make_result("d", LINES),
        ChatResponse("message", LINES),
    )
