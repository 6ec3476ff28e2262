"""Labels of suspected secrets."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import SuspectedSecretState

#: States, in the order of the filter.
STATE_LABELS: Mapping[str, str] = {
    SuspectedSecretState.OPEN: "Open",
    SuspectedSecretState.DISMISSED: "Dismissed",
    SuspectedSecretState.REDACTED: "Redacted",
}
