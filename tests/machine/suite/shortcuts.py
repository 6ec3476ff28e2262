"""Work that tests repeat with the same result each time, done once a process."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db.models.signals import post_migrate
from django.http import HttpRequest
from django.test import Client
from whitenoise.middleware import WhiteNoiseMiddleware


def reuse_static_files(patch: pytest.MonkeyPatch) -> None:
    """Let each test client after the first take the first one's list of static files.

    Listing them costs 15 ms of processor time a client, a third of that of most page tests.
    """
    scan: Callable[[WhiteNoiseMiddleware], None] = WhiteNoiseMiddleware.add_files_from_finders
    known_files: dict[str, Any] = {}

    def add_files(middleware: WhiteNoiseMiddleware) -> None:
        if not known_files:
            scan(middleware)
            known_files.update(middleware.files)
        middleware.files.update(known_files)

    patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_files)


def begin_one_session(patch: pytest.MonkeyPatch) -> None:
    """Let a test client without a session sign in with one, not save an empty one to replace it.

    That was 3 of the 6 ms of processor time of a sign-in, of which page tests have 5,000.
    """
    log_in: Callable[..., None] = Client._login  # type: ignore[attr-defined]  # stubs lack it

    def log_in_at_once(client: Client, user: Any, backend: str | None = None) -> None:
        if settings.SESSION_COOKIE_NAME in client.cookies:
            log_in(client, user, backend)
            return
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore()
        login(request, user, backend)
        request.session.save()
        client._set_login_cookies(request)  # type: ignore[attr-defined]  # stubs lack it

    patch.setattr(Client, "_login", log_in_at_once)


def remember_versions(patch: pytest.MonkeyPatch) -> None:
    """Look each distribution's version up once.

    pytest asks for Twisted's at every test, once something has loaded ``twisted.trial``: a
    fortieth of the processor time.
    """
    patch.setattr(importlib.metadata, "version", cache(importlib.metadata.version))


def skip_permissions() -> None:
    """Keep Django from writing the permissions of models, which jpweb never asks for.

    It does so after each flush, so after each test with ``transaction=True``: 10 ms.
    """
    assert post_migrate.disconnect(
        dispatch_uid=f"{create_permissions.__module__}.create_permissions"
    )
    assert post_migrate.disconnect(create_contenttypes)
