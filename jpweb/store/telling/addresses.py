"""Where people want to be told of what waits for them: the addresses that they gave."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import plain
from jpweb.store.errors import StoreError
from jpweb.store.models import Address, Membership, Person
from jpweb.store.terms import Role

#: How many addresses one person can have.
MOST = 20
#: The longest delay, in seconds.
LONGEST = 86_400


class UnknownAddress(StoreError):
    """The person has no such address."""


class NotTaken(StoreError):
    """The address cannot be kept; says why."""


def of(person_id: int) -> list[Address]:
    """Return a person's addresses with their workspaces."""
    return list(_of(person_id).order_by("workspace__name", "pk"))


def own(person_id: int, address_id: int) -> Address:
    """Return an address of a person. Raises UnknownAddress where it is none of theirs."""
    found = _of(person_id).filter(pk=address_id).first()
    if found is None:
        raise UnknownAddress("No such channel.")
    return found


@transaction.atomic
def add(person_id: int, workspace_id: int, url: str, delay: int) -> Address:
    """Keep an address. Raises NotTaken.

    The delay is in seconds, from 0 to LONGEST; the address is one that the library takes.
    """
    if not may_answer(person_id, workspace_id):
        raise NotTaken("Choose a workspace in which you can answer.")
    Person.objects.select_for_update().get(pk=person_id)  # two at once are counted one by one
    there = list(Address.objects.filter(person_id=person_id))
    if any(each.workspace_id == workspace_id and each.url == url for each in there):
        raise NotTaken("You already have this channel for this workspace.")
    if len(there) >= MOST:
        raise NotTaken(f"You have {MOST} channels. Remove one to add another.")
    made = Address(person_id=person_id, workspace_id=workspace_id, url=plain.text(url), delay=delay)
    made.save(force_insert=True)
    return made


def remove(person_id: int, address_id: int) -> None:
    """Forget an address. Raises UnknownAddress."""
    own(person_id, address_id).delete()


def note(address_id: int, problem: str) -> None:
    """Keep why the last message to an address failed; nothing where it did not."""
    Address.objects.filter(pk=address_id).update(problem=plain.text(problem)[:500])


def may_answer(person_id: int, workspace_id: int) -> bool:
    """Tell whether a person may answer in a workspace now."""
    found = Membership.objects.filter(person_id=person_id, workspace_id=workspace_id)
    return found.filter(role__gte=Role.RESPONDER, person__is_active=True).exists()


def _of(person_id: int) -> QuerySet[Address]:
    return Address.objects.filter(person_id=person_id).select_related("workspace")
