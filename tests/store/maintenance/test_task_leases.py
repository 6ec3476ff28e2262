from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from pytest_django import DjangoAssertNumQueries

from jpweb.store.maintenance import task_leases
from jpweb.store.models import TaskLease

pytestmark = pytest.mark.django_db


def lapse(name: str = "expiry") -> None:
    TaskLease.objects.filter(name=name).update(lease_until=Now() - timedelta(milliseconds=1))


def holders() -> dict[str, str]:
    return dict(TaskLease.objects.values_list("name", "holder"))


def test_task_lease_has_one_holder():
    assert task_leases.acquire_or_renew("expiry", "one", 60)
    assert not task_leases.acquire_or_renew("expiry", "two", 60)
    assert holders() == {"expiry": "one"}


def test_task_lease_is_renewed_by_its_holder():
    assert task_leases.acquire_or_renew("expiry", "one", 0)
    assert task_leases.acquire_or_renew("expiry", "one", 60)
    assert TaskLease.objects.filter(lease_until__gt=Now() + timedelta(seconds=50)).exists()


def test_a_lease_lasts_from_the_databases_now():
    task_leases.acquire_or_renew("expiry", "one", 60)
    lasts = TaskLease.objects.filter(
        lease_until__gt=Now() + timedelta(seconds=50),
        lease_until__lt=Now() + timedelta(seconds=61),
    )
    assert lasts.exists()


def test_task_lease_passes_to_another_process_after_expiry():
    task_leases.acquire_or_renew("expiry", "one", 60)
    lapse()
    assert task_leases.acquire_or_renew("expiry", "two", 60)
    assert not task_leases.acquire_or_renew("expiry", "one", 60)
    assert holders() == {"expiry": "two"}


def test_lapsed_lease_is_renewed_where_no_other_took_it():
    task_leases.acquire_or_renew("expiry", "one", 60)
    lapse()
    assert task_leases.acquire_or_renew("expiry", "one", 60)
    assert not task_leases.acquire_or_renew("expiry", "two", 60)


def test_task_leases_of_two_tasks_have_separate_holders():
    assert task_leases.acquire_or_renew("expiry", "one", 60)
    assert task_leases.acquire_or_renew("notify", "two", 60)
    assert holders() == {"expiry": "one", "notify": "two"}


def test_released_task_lease_is_free_at_once():
    task_leases.acquire_or_renew("expiry", "one", 60)
    task_leases.acquire_or_renew("notify", "two", 60)
    task_leases.release_all("one")
    assert holders() == {"notify": "two"}
    assert task_leases.acquire_or_renew("expiry", "two", 60)


def test_the_duties_of_an_installation_that_is_dead_may_be_taken_at_once():
    holder_by_name = {"a": "here#1", "b": "here", "c": "here2#1", "d": "there#1"}
    for name, holder in holder_by_name.items():
        task_leases.acquire_or_renew(name, holder, 60)
    task_leases.expire_installation("here")
    assert holders() == {"c": "here2#1", "d": "there#1"}


def test_lease_that_is_held_costs_one_query_and_no_write(
    django_assert_num_queries: DjangoAssertNumQueries,
):
    task_leases.acquire_or_renew("expiry", "one", 60)
    with django_assert_num_queries(1):
        assert not task_leases.acquire_or_renew("expiry", "two", 60)


def test_hold_all_returns_those_that_are_held():
    task_leases.acquire_or_renew("expiry", "two", 60)
    assert task_leases.acquire_or_renew_all(["notify", "expiry", "tidy"], "one", 60) == {
        "notify",
        "tidy",
    }


def test_renewing_all_held_leases_is_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
):
    names = {"notify", "expiry", "tidy"}
    task_leases.acquire_or_renew_all(names, "one", 0)
    with django_assert_num_queries(1):
        assert task_leases.acquire_or_renew_all(names, "one", 60) == names
    renewed_leases = TaskLease.objects.filter(lease_until__gt=Now() + timedelta(seconds=50))
    assert renewed_leases.count() == len(names)
