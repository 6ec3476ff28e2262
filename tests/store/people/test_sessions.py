from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError
from django.utils import timezone

from jpweb.store.models import Person, SignIn
from jpweb.store.people import sessions
from jpweb.store.people.sessions import MAKER_KEY, SessionStore
from tests.store import making

pytestmark = pytest.mark.django_db


def begin(person: Person, maker: Person | None = None) -> str:
    store = SessionStore()
    store[SESSION_KEY], store[MAKER_KEY] = str(person.pk), maker and maker.pk
    store.save()
    assert store.session_key
    return store.session_key


def test_save_keeps_the_hash_of_the_key_alone():
    person = making.person()
    key = begin(person)
    row = SignIn.objects.get()
    assert key not in repr(vars(row))
    assert row.key_hash not in key
    assert row.person == person
    assert SessionStore(key)[SESSION_KEY] == str(person.pk)
    assert SessionStore(row.key_hash).load() == {}, "the hash opens nothing"


def test_find_live_returns_only_the_person_of_the_signed_data(settings: Any):
    person, other = making.person(), making.person()
    key = begin(person)
    assert (row := sessions.find_live(key)) is not None
    assert row.person == person
    SignIn.objects.update(person=other)
    assert sessions.find_live(key) is None
    SignIn.objects.update(person=person)
    settings.SECRET_KEY = "another key"
    assert sessions.find_live(key) is None


def test_list_open_omits_sign_ins_of_an_earlier_secret_key(settings: Any):
    person = making.person()
    begin(person)
    settings.SECRET_KEY = "another key"
    key = begin(person)
    (sign_in,) = sessions.list_open(person.pk, key)
    assert sign_in.is_current


def test_load_after_the_idle_limit_is_empty(settings: Any):
    key = begin(making.person())
    settings.SESSION_IDLE_SECONDS = 60
    SignIn.objects.update(seen_at=timezone.now() - timedelta(seconds=61))
    assert SessionStore(key).load() == {}


def test_limit_that_was_lowered_ends_sign_ins_that_began_before(settings: Any):
    person = making.person()
    old, young = begin(person), begin(person)
    for key, hours in ((old, 48), (young, 23)):
        began_at = timezone.now() - timedelta(hours=hours)
        SignIn.objects.filter(pk=sessions.hash_key(key)).update(began_at=began_at)
    hashes = [sessions.hash_key(key) for key in (old, young)]
    assert set(sessions.list_live(hashes)) == {*hashes}
    settings.SESSION_COOKIE_AGE = 86_400
    assert [bool(SessionStore(key).load()) for key in (old, young)] == [False, True]
    assert [sessions.find_live(key) is not None for key in (old, young)] == [False, True]
    assert [row.key_hash for row in sessions.list_open(person.pk, young)] == hashes[1:]
    assert sessions.list_live(hashes) == {hashes[1]: person.pk}
    SessionStore.clear_expired()
    assert SignIn.objects.get().pk == hashes[1]


def test_record_requests_keeps_a_session_and_revives_none(settings: Any):
    settings.SESSION_IDLE_SECONDS = 60
    live, idle = begin(making.person()), begin(making.person())
    for key, seconds in ((live, 50), (idle, 70)):
        seen_at = timezone.now() - timedelta(seconds=seconds)
        SignIn.objects.filter(pk=sessions.hash_key(key)).update(seen_at=seen_at)
    sessions.record_requests({sessions.hash_key(live), sessions.hash_key(idle), "unknown"})
    settings.SESSION_IDLE_SECONDS = 30
    assert SessionStore(live).load()
    assert not SessionStore(idle).load()


def test_save_again_does_not_extend_the_absolute_limit():
    key = begin(making.person())
    limit = timezone.now() + timedelta(minutes=1)
    SignIn.objects.update(expires_at=limit)
    store = SessionStore(key)
    store["said"] = "something"
    store.save()
    assert SignIn.objects.get().expires_at == limit


def test_save_after_the_session_ended_raises():
    store = SessionStore(begin(making.person()))
    store["said"] = "something"
    SignIn.objects.all().delete()
    with pytest.raises(UpdateError):
        store.save()


def test_cycle_key_leaves_no_row_of_the_old_key():
    store = SessionStore(old := begin(making.person()))
    store.cycle_key()
    assert store.session_key != old
    assert not store.exists(old)
    assert SignIn.objects.count() == 1
    store.flush()
    assert not SignIn.objects.exists()


def test_end_all_spares_one_session_and_other_people():
    ada, eve = making.person(), making.person()
    kept_key, ended_key, eve_key = begin(ada), begin(ada), begin(eve)
    assert sessions.end_all(ada.pk, but_key=kept_key) == [sessions.hash_key(ended_key)]
    hashes = {sessions.hash_key(key) for key in (kept_key, eve_key)}
    assert {row.pk for row in SignIn.objects.all()} == hashes
    assert [session.is_current for session in sessions.list_open(ada.pk, kept_key)] == [True]


def test_list_live_excludes_expired_sessions_and_inactive_people():
    ada, eve = making.person(), making.person()
    keys = {sessions.hash_key(begin(person)): person.pk for person in (ada, eve, ada)}
    Person.objects.filter(pk=eve.pk).update(is_active=False)
    expired_key = next(key for key, person in keys.items() if person == ada.pk)
    SignIn.objects.filter(pk=expired_key).update(expires_at=timezone.now() - timedelta(seconds=1))
    live = [key for key, person in keys.items() if person == ada.pk and key != expired_key]
    assert sessions.list_live({*keys, "unknown"}) == dict.fromkeys(live, ada.pk)
