"""``python -m tests.chaos.cast N NAME``: sign-in links for N people; the tools are trusted.

Runs in a process of its own, on the database of the team that is tested.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
django.setup()

from jpweb.runtime import configuration  # noqa: E402  needs Django set up
from jpweb.store import accounts  # noqa: E402  needs Django set up
from jpweb.store.choices import Role  # noqa: E402  needs Django set up
from jpweb.store.models import Membership, Person  # noqa: E402  needs Django set up


def main() -> None:
    owner = accounts.get_or_create_owner()
    workspaces = accounts.list_workspaces(owner.pk, Role.OWNER)
    (workspace,) = (workspace for workspace in workspaces if workspace.name != "Demo")
    things = [thing.item for thing in configuration.load_workspace_config(workspace).trust_statuses]
    trust_keys = [(item.kind.value, item.name, item.fingerprint) for item in things]
    configuration.grant_trust(workspace, trust_keys, owner)
    size, name = int(sys.argv[1]), sys.argv[2]
    people = []
    for account in (f"{name}-{n}" for n in range(size)):
        people.append(Person.objects.create(username=account, first_name=account))
        Membership.objects.create(person=people[-1], workspace=workspace, role=Role.RESPONDER)
    tokens = {person.username: accounts.issue_link(person) for person in people}
    print(json.dumps({"workspace": workspace.pk, "tokens": tokens}))


if __name__ == "__main__":
    main()
