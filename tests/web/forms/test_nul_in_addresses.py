"""Text with NUL in an address or a form: PostgreSQL refuses it, so it is in no query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jpweb.store.annotations import threads
from tests.web.world import World

JSON = {"Accept": "application/json"}
#: Requests whose text reaches a filter, and their status.
REQUESTS: dict[str, tuple[str, str, dict[str, str], int]] = {
    "transcript": ("get", "/conversations/{conversation}", {"at": "\x00"}, 404),
    "find": ("get", "/conversations/{conversation}/find", {"q": "Go", "at": "e-\x00"}, 200),
    "next comment": ("get", "/conversations/{conversation}/comments/next", {"from": "\x00"}, 302),
    "bookmark": ("post", "/conversations/{conversation}/bookmark", {"anchor": "e-1\x00"}, 404),
    "trust in a conversation": (
        "post",
        "/conversations/{conversation}/configuration/trust",
        {"action": "withdraw", "item": "digest tool \x00"},
        302,
    ),
    "trust": ("post", "/workspaces/{workspace}/tools/withdraw", {"item": "digest \x00 name"}, 302),
}


def refuse_nul(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Run a query as PostgreSQL would on any engine: not with NUL."""
    assert "\\x00" not in repr(params), sql
    return execute(sql, params, many, context)


@pytest.mark.parametrize("request_name", REQUESTS)
def test_requests_with_nul_pass_none_to_queries(world: World, request_name: str):
    method, path, data, status = REQUESTS[request_name]
    threads.add_comment(world.conversation, world.anchor, world.people["owner"], "Really?")
    client = world.client("owner")
    address = path.format(conversation=world.conversation.pk, workspace=world.workspace.pk)
    headers = JSON if request_name == "find" else {}
    with connection.execute_wrapper(refuse_nul):
        response = getattr(client, method)(address, data, headers=headers)
    assert response.status_code == status
