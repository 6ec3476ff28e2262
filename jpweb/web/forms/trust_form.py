"""The form in which owners trust the items of a configuration, and its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django import forms
from django.utils.crypto import salted_hmac

from jpweb.runtime.configuration import TrustStatus, escape_invisible
from jpweb.store import db_text
from jpweb.store.workspace_config.trust import TrustState
from jpweb.web import display_text
from jpweb.web.forms.fields import TextListField


class TrustForm(forms.Form):
    """The form values of the entries to trust, or whose trust is withdrawn."""

    item = TextListField()

    def list_values(self) -> list[str]:
        """Return the form values, none where the form has no entry."""
        self.full_clean()
        values: list[str] = self.cleaned_data["item"]
        return values

    def list_entries(self) -> list[tuple[str, str]]:
        """Return kind and name of each entry."""
        return [parse_form_value(value) for value in self.list_values()]


@dataclass(frozen=True, slots=True)
class TrustGroup:
    """Entries that run the same command or server, reviewed together, with their permissions."""

    entries: Sequence[TrustStatus]

    @property
    def first(self) -> TrustStatus:
        """The entry that stands for all items."""
        return self.entries[0]

    @property
    def title(self) -> str:
        """The items that an owner would trust."""
        if not self.first.item.runs:
            return display_text.BUILTIN_TRUST_LABEL
        return display_text.TRUST_KIND_LABELS[self.first.item.kind.value]

    @property
    def names(self) -> str:
        """The names of the entries."""
        return join_names(entry.item.name for entry in self.entries)

    @property
    def values(self) -> list[str]:
        """The form values of the entries."""
        return [make_form_value(entry) for entry in self.entries]

    @property
    def gates(self) -> list[tuple[str, tuple[str, ...]]]:
        """The permissions of the tools; tools with equal permissions are one group."""
        tools: dict[tuple[str, ...], list[str]] = {}
        if self.first.trust_state is TrustState.CHANGED and self.first.has_changed_gates:
            return []  # the diff shows them
        for entry in self.entries:
            for name, lines in entry.item.gates.items():
                tools.setdefault(lines, []).append(name)
        return [(join_names(names), lines) for lines, names in tools.items()]


def group_statuses(entries: Iterable[TrustStatus], *trust_states: TrustState) -> list[TrustGroup]:
    """Return entries in these trust states, grouped by their content and its diff."""
    groups: dict[tuple[str, ...], list[TrustStatus]] = {}
    for entry in entries:
        if entry.trust_state in trust_states:
            change = [f"{line.change} {line.text}" for line in entry.diff_lines]
            key = (entry.item.kind.value, entry.trust_state.value, entry.item.runs, *change)
            groups.setdefault(key, []).append(entry)
    return [TrustGroup(group_entries) for group_entries in groups.values()]


def make_form_value(entry: TrustStatus) -> str:
    """Return the form value of an entry; its digest is keyed, so no secret can be guessed."""
    item = entry.item
    digest = salted_hmac("jpweb.tools.trust", item.fingerprint, algorithm="sha256").hexdigest()
    return f"{digest} {item.kind.value} {item.name}"


def read_requests(
    values: Sequence[str], statuses: Iterable[TrustStatus]
) -> list[tuple[str, str, str]]:
    """Return kind, name and fingerprint of form values; the latter is empty for a changed item."""
    fingerprints = {make_form_value(status): status.item.fingerprint for status in statuses}
    return [(*parse_form_value(value), fingerprints.get(value, "")) for value in values]


def parse_form_value(value: str) -> tuple[str, str]:
    """Return kind and name from a form value, as every database takes them."""
    kind, _, name = db_text.clean_text(value).partition(" ")[2].partition(" ")
    return kind, name


def join_names(names: Iterable[str]) -> str:
    """Return names for people, with their invisible characters spelled out."""
    return ", ".join(escape_invisible(name) for name in names) or "nothing"
