from __future__ import annotations

import pytest
from django.db import InterfaceError, OperationalError
from django.urls import reverse

from jpweb.runtime.inquiries import resolution
from jpweb.store import approvals
from tests.web.world import World


@pytest.mark.parametrize("problem", [OperationalError, InterfaceError])
def test_unavailable_database_returns_503(
    world: World, monkeypatch: pytest.MonkeyPatch, problem: type[Exception]
):
    client = world.client("owner")

    def raise_unavailable(*_: object) -> None:
        raise problem("server closed the connection unexpectedly")

    monkeypatch.setattr(approvals, "list_waiting", raise_unavailable)
    response = client.get(reverse("questions"))
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "Saved data is not affected" in response.text
    assert "closed the connection" not in response.text


def test_answer_during_an_outage_gets_503(world: World, monkeypatch: pytest.MonkeyPatch):
    async def raise_unavailable(*_: object, **__: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(resolution, "answer_inquiry", raise_unavailable)
    answer_url = reverse("question-answer", args=[world.question.pk])
    response = world.client("owner").post(answer_url, {"answer": "true"})
    assert response.status_code == 503


def test_other_exceptions_return_500(world: World, monkeypatch: pytest.MonkeyPatch):
    client = world.client("owner")
    client.raise_request_exception = False

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(approvals, "list_waiting", breaks)
    assert client.get(reverse("questions")).status_code == 500
