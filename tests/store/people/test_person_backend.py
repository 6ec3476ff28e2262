from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.test import Client

from jpweb.store.people.person_backend import PersonBackend
from jpweb.web.security.browser_sessions import AUTH_BACKEND
from tests.store import making

pytestmark = pytest.mark.django_db


def test_a_person_is_found_by_key():
    person = making.person("ada")
    assert PersonBackend().get_user(person.pk) == person


def test_get_user_of_an_inactive_or_deleted_person_returns_none():
    person = making.person("ada")
    person.is_active = False
    person.save()
    assert PersonBackend().get_user(person.pk) is None
    assert PersonBackend().get_user(person.pk + 1) is None


def test_sessions_begin_with_the_first_backend():
    assert settings.AUTHENTICATION_BACKENDS[0] == AUTH_BACKEND


def test_a_session_of_an_earlier_version_stays_signed_in():
    client = Client()
    client.force_login(making.person("ada"), "django.contrib.auth.backends.ModelBackend")
    assert client.session[BACKEND_SESSION_KEY] not in AUTH_BACKEND
    assert client.get("/conversations").status_code == 200
