"""System checks: errors in the settings, found at start."""

from __future__ import annotations

import difflib
import os
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django's name

from jpweb import text_settings
from jpweb.runtime import provider_status
from jpweb.runtime.notifications import apprise_sender

#: Beginnings of variables that are read elsewhere: parts of providers, those that jpweb gives to
#: child processes and tools, and options of the tests.
_OTHER_PREFIXES = (
    *("JPWEB_OIDC_", "JPWEB_USER_UMASK", "JPWEB_CONTEXT"),
    *("JPWEB_TEST_", "JPWEB_PROOF", "JPWEB_FUZZ_", "JPWEB_CHAOS_", "JPWEB_BENCH_"),
)


def check_provider(**_: Any) -> list[CheckMessage]:
    """Return an error where JPWEB_MODEL names an unknown provider."""
    providers = provider_status.list_providers()
    if settings.PROVIDER in providers:
        return []
    return [
        Error(
            f"JPWEB_MODEL begins with “{settings.PROVIDER}”, which is not a provider.",
            hint=f"Write provider/model; providers are: {', '.join(providers)}.",
            id="jpweb.E001",
        )
    ]


def check_head_address(**_: Any) -> list[CheckMessage]:
    """Return a warning where JPWEB_LEDGER_HEAD_URL is no address to which a head can be sent."""
    url = settings.LEDGER_HEAD_URL
    fault = apprise_sender.describe_fault(url) if url else ""  # it imports Apprise, for a second
    if not fault:
        return []
    return [
        Warning(
            "JPWEB_LEDGER_HEAD_URL is not a notification address, so no head of the ledger is "
            f"sent: {fault}",
            id="jpweb.W002",
        )
    ]


def check_services(**_: Any) -> list[CheckMessage]:
    """Return a warning for each word of JPWEB_NOTIFY_SCHEMAS that names no service of Apprise."""
    if not os.environ.get("JPWEB_NOTIFY_SCHEMAS"):  # Apprise is not imported for the usual ones
        return []
    services = apprise_sender.list_services()
    return [
        Warning(
            f"JPWEB_NOTIFY_SCHEMAS has “{schema}”, which is not a service of Apprise.",
            hint="Write what stands before :// in the service's URLs, such as slack or mailtos.",
            id="jpweb.W004",
        )
        for schema in settings.NOTIFY_SCHEMAS
        if schema not in services
    ]


def check_secret_key(**_: Any) -> list[CheckMessage]:
    """Return a warning where white space surrounds the secret key: an editor may have added it."""
    if settings.SECRET_KEY.strip() == settings.SECRET_KEY:
        return []
    return [
        Warning(
            f"The secret key in {settings.SECRET_KEY_SOURCE} begins or ends with white space, "
            "which makes it another key than without.",
            hint="Where it was put back by hand, copy the file secret-key itself. Keep a key that "
            "the installation began with as it is.",
            id="jpweb.W003",
        )
    ]


def check_variables(**_: Any) -> list[CheckMessage]:
    """Return a warning for each variable of the environment that names no setting."""
    known_names = text_settings.READ_NAMES
    return [
        Warning(
            f"{name} is not a jpweb setting and has no effect.",
            hint=" ".join(
                f"Did you mean {match}?"
                for match in difflib.get_close_matches(name, known_names, n=1, cutoff=0.8)
            ),
            id="jpweb.W001",
        )
        for name in sorted(os.environ.keys() - known_names)
        if name.startswith("JPWEB_") and not name.startswith(_OTHER_PREFIXES)
    ]


#: All of these, cheap enough for every command.
SETTINGS_CHECKS = (
    check_provider,
    check_head_address,
    check_services,
    check_secret_key,
    check_variables,
)
