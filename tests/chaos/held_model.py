"""A model that calls the tools it is asked to, and whose first replies hang between two calls."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count, repeat
from typing import Any

from tests.machine.vendors import Call, Reply, Say, run_vendor

#: Replies of one model at most.
_MAX_REPLIES = 10_000
_CALL = re.compile(r"^/call (\w+) (.+)$", re.MULTILINE)


class HeldModel:
    """Calls what a message asks for in lines of ``/call``, as the scripted model does.

    Its first ``held_count`` replies, which alone begin with a text, stop in the arguments of their
    second call until the client leaves. ``held_ids`` are the ids of their first calls.
    """

    def __init__(self, held_count: int) -> None:
        self.base_url = ""
        self.held_ids: list[str] = []
        self._held_count = held_count
        self._numbers = count()
        self._lock = threading.Lock()

    @property
    def overrides(self) -> str:
        """The configuration with which a workspace has its turns played by this model."""
        return (
            'assistant.model.id = "llamacpp/some.gguf"\n'
            f'providers.llm.llamacpp.base_url = "{self.base_url}"\n'
        )

    def make_reply(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply to a request: the calls, or some words once there are results."""
        messages = body["messages"]
        if any(message["role"] == "tool" for message in messages):
            return Reply(Say("All are called."))
        text = "\n".join(_join_text(m["content"]) for m in messages if m["role"] == "user")
        calls = [
            Call(name, json.loads(arguments), f"held_{next(self._numbers)}")
            for name, arguments in _CALL.findall(text)
        ]
        with self._lock:
            if len(self.held_ids) == self._held_count:
                return Reply(*calls)
            self.held_ids.append(calls[0].id)
        begun_call = Call(calls[1].name, id=calls[1].id, raw='{"')
        return Reply(Say("The calls follow."), calls[0], begun_call, end="hang")


def _join_text(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


@contextmanager
def run_held_model(held_count: int) -> Iterator[HeldModel]:
    model = HeldModel(held_count)
    with run_vendor("llamacpp", repeat(model.make_reply, _MAX_REPLIES)) as standin:
        model.base_url = standin.base_url
        yield model
