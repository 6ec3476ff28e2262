"""Labels of suspected secrets."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import SuspicionState

#: States, in the order of the filter.
STATE_LABELS: Mapping[str, str] = {
    SuspicionState.OPEN: "Open",
    SuspicionState.DISMISSED: "Dismissed",
    SuspicionState.REDACTED: "Redacted",
}
