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
from django.core.management.commands import flush
from django.db.models.signals import post_migrate
from django.http import HttpRequest
from django.template import Context, RequestContext, Template
from django.test import Client
from django.test import client as test_client
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
    """Let a test client without a session sign in with one that is saved once, with its person.

    An empty one that is replaced, and one that is saved without its person first, took 4 of the
    6 ms of processor time of a sign-in, of which page tests have 5,000; looking whether its random
    key is taken 0.4 ms.
    """
    log_in: Callable[..., None] = Client._login  # type: ignore[attr-defined]  # stubs lack it

    def log_in_at_once(client: Client, user: Any, backend: str | None = None) -> None:
        if settings.SESSION_COOKIE_NAME in client.cookies:
            log_in(client, user, backend)
            return
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore()
        request.session.cycle_key = lambda: None  # type: ignore[method-assign]  # it has no key yet
        request.session.exists = lambda _key: False  # type: ignore[method-assign, assignment]  # a unique index
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


def store_page_contexts(patch: pytest.MonkeyPatch) -> None:
    """Let a test client's response have the contexts of whole pages, not of each part of one.

    Copying those of all templates took 2 % of the processor time of page tests.
    """
    store_template: Callable[..., None] = test_client.store_rendered_templates  # type: ignore[attr-defined]  # stubs lack it

    def store_page(
        store: dict[str, Any],
        signal: Any,
        sender: Template,
        template: Template,
        context: Context,
        **options: Any,
    ) -> None:
        if isinstance(context, RequestContext) and context.template is template:
            store_template(store, signal, sender, template, context, **options)
        else:
            store.setdefault("templates", []).append(template)

    patch.setattr(test_client, "store_rendered_templates", store_page)


def empty_filled_tables(patch: pytest.MonkeyPatch) -> None:
    """Let a test that commits delete the rows of the tables that have some.

    Truncating all tables takes PostgreSQL 70 ms, asking which have rows 1 ms.
    """
    list_statements: Callable[..., list[str]] = flush.sql_flush  # type: ignore[attr-defined]  # stubs lack it
    names_by_alias: dict[str, list[str]] = {}

    def list_deletions(
        style: Any, connection: Any, reset_sequences: bool = True, allow_cascade: bool = False
    ) -> list[str]:
        if reset_sequences or allow_cascade:
            return list_statements(style, connection, reset_sequences, allow_cascade)
        if connection.alias not in names_by_alias:
            names_by_alias[connection.alias] = connection.introspection.django_table_names(
                only_existing=True, include_views=False
            )
        tables = [connection.ops.quote_name(name) for name in names_by_alias[connection.alias]]
        with connection.cursor() as cursor:
            cursor.execute(
                " UNION ALL ".join(
                    f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {table})"  # noqa: S608  a table's name
                    for number, table in enumerate(tables)
                )
            )
            numbers = [number for (number,) in cursor.fetchall()]
        return [f"DELETE FROM {tables[number]};" for number in numbers]  # noqa: S608  a table's name

    patch.setattr(flush, "sql_flush", list_deletions)
