"""What must be true of the record whatever was killed; read from the database alone."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from jpweb.evidence import ledger_verifier
from jpweb.evidence.ledger_verifier import Link
from tests.chaos import stage

_JOURNAL = """
SELECT e.conversation_id, e.position, e.kind, e.anchor, e.text
FROM store_journalentry e JOIN store_conversation c ON c.id = e.conversation_id
WHERE c.origin = 'native' ORDER BY e.conversation_id, e.position
"""
_INQUIRIES = """
SELECT i.id, i.conversation_id, i.inquiry_id, i.state, i.position, i.response_position, i.answer
FROM store_inquiry i JOIN store_conversation c ON c.id = i.conversation_id
WHERE c.origin = 'native'
"""


_APPROVALS = """
SELECT id, conversation_id, tool_call_id, state FROM store_approval ORDER BY id
"""
_LEDGER = """
SELECT sequence, text, text_hash FROM store_ledgerentry
WHERE sequence IS NOT NULL ORDER BY sequence
"""
_HEAD = "SELECT sequence, chain_hash FROM store_ledgerhead"
_SETTLEMENTS = """
SELECT subject, count(*) FROM store_ledgerentry
WHERE act IN ('inquiry_answered', 'inquiry_cancelled', 'approval_decided') GROUP BY subject
"""


class RecordSource(Protocol):
    """A line to a database that nothing disturbs."""

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]: ...


class Deployment(RecordSource, Protocol):
    """A jpweb of several processes, and a line to its database."""

    @property
    def url(self) -> str: ...

    @property
    def ports(self) -> list[int]: ...

    def environment(self) -> dict[str, str]: ...

    def rows_later(self, query: str, *values: Any) -> list[tuple[Any, ...]] | None: ...


@dataclass(slots=True)
class ConversationJournal:
    """The journal of one conversation, by what its events belong to."""

    key: int
    positions: list[int] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    call_count: int = 0
    tally_ids: set[str] = field(default_factory=set)
    gated_ids: set[str] = field(default_factory=set)
    calls: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    results: dict[str, list[tuple[int, dict[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    questions: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, list[tuple[int, dict[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, position: int, kind: str, anchor: str, event: dict[str, Any]) -> None:
        self.positions.append(position)
        self.anchors.append(anchor)
        self.kinds.append(kind)
        match kind:
            case "chat_request":
                self.call_count += event.get("content", "").count("/call ")
            case "tool_call_request":
                self.calls[event["id"]].append(position)
                if event.get("name") in stage.TALLY_TOOLS:
                    self.tally_ids.add(event["id"])
                if event.get("name") == stage.GATED_TOOL:
                    self.gated_ids.add(event["id"])
            case "tool_call_response":
                self.results[event["id"]].append((position, event))
            case "inquiry_request":
                self.questions[event["id"]].append(position)
            case "inquiry_response":
                self.answers[event["id"]].append((position, event))
            case _:
                pass

    def faults(self) -> Iterator[str]:
        """Say what is wrong with it."""
        if self.positions != list(range(len(self.positions))):
            yield "its positions have gaps"
        if len(set(self.anchors)) != len(self.anchors):
            yield "two events have one name"
        if self.kinds.count("turn_start") != 1 or self.kinds.count("chat_request") != 1:
            yield "its turn was opened more than once"
        if self.call_count not in (0, len(self.calls)):
            yield f"its reply made {self.call_count} calls, and {len(self.calls)} are on record"
        yield from self._unpaired("call", self.calls, self.results)
        yield from self._unpaired("question", self.questions, self.answers)

    def find_tally_faults(
        self, run_counts: Mapping[str, int], permission_counts: Mapping[str, int]
    ) -> Iterator[str]:
        """Say what a tool did more or less often than the record says; counts by word.

        Only the call that was under way when its process ended may run again, and its result
        says so. ``permission_counts`` are by the ids of calls that ask before they run.
        """
        for name in self.tally_ids:
            for _, response in self.results[name]:
                text = b64decode(response["content"]).decode()
                word = text.partition("counted ")[2].strip()
                run_count = run_counts.get(word, 0)
                was_rerun = response.get("metadata", {}).get("jpweb", {}).get("again", False)
                if not word:
                    yield f"call {name} ended without the tool's result: {text}"
                elif run_count == 0 or (run_count > 1 and not was_rerun):
                    yield f"{word} ran {run_count} times; told: {was_rerun}"
                if name in self.gated_ids and run_count > permission_counts.get(name, 0):
                    yield f"{word} ran {run_count} times; allowed: {permission_counts.get(name, 0)}"

    def _unpaired(
        self,
        label: str,
        openings: Mapping[str, list[int]],
        closings: Mapping[str, list[tuple[int, dict[str, Any]]]],
    ) -> Iterator[str]:
        for name in openings.keys() | closings.keys():
            starts, ends = openings.get(name, []), closings.get(name, [])
            if len(starts) != 1 or len(ends) != 1:
                yield f"{label} {name} has {len(starts)} requests and {len(ends)} responses"
            elif starts[0] >= ends[0][0]:
                yield f"{label} {name} was answered before it was asked"


def list_journals(place: RecordSource) -> list[ConversationJournal]:
    """Read the journals."""
    journals: dict[int, ConversationJournal] = {}
    for key, position, kind, anchor, text in place.rows(_JOURNAL):
        journals.setdefault(key, ConversationJournal(key)).add(
            position, kind, anchor, json.loads(text)
        )
    return list(journals.values())


def list_faults(place: RecordSource) -> list[str]:
    """Return everything that is wrong with the record."""
    wrong = [
        f"conversation {conversation.key}: {fault}"
        for conversation in list_journals(place)
        for fault in conversation.faults()
    ]
    states = Counter(state for (state,) in place.rows("SELECT state FROM store_run"))
    if set(states) - {"done"}:
        wrong.append(f"not every run is done: {dict(states)}")
    for key, _, name, state, position, response, _ in place.rows(_INQUIRIES):
        if state != "answered" or response is None or response <= position:
            wrong.append(f"question {key} ({name}) is {state}, {position} to {response}")
    for key, _, call, state in place.rows(_APPROVALS):
        if state != "decided":
            wrong.append(f"approval {key} of {call} is {state}")
    return wrong + ledger_faults(place)


def ledger_faults(place: RecordSource) -> list[str]:
    """Return what is wrong with the ledger: its chain, and decisions not recorded exactly once."""
    ((sequence, chain_hash),) = place.rows(_HEAD)
    links = (Link(*values) for values in place.rows(_LEDGER))
    sealed_links = (link for link in links if link.sequence <= sequence)  # others came meanwhile
    head = {"sequence": sequence, "chain_hash": chain_hash}
    problems = ledger_verifier.find_chain_problems(sealed_links, head)
    wrong = [f"ledger: {problem}" for problem in problems]
    entry_counts = dict(place.rows(_SETTLEMENTS))
    subjects = [f"inquiry:{key}" for key, *_ in place.rows(_INQUIRIES)]
    subjects += [f"approval:{key}" for key, *_ in place.rows(_APPROVALS)]
    return wrong + [
        f"ledger: {subject} has {entry_count} entries"
        for subject in subjects
        if (entry_count := entry_counts.get(subject, 0)) != 1
    ]


def list_tally_faults(place: RecordSource, run_counts: Mapping[str, int]) -> list[str]:
    """Return what the tools did more or less often than the record says; counts by word."""
    permissions: dict[int, Counter[str]] = defaultdict(Counter)
    for _, conversation_id, call, state in place.rows(_APPROVALS):
        permissions[conversation_id][call] += state == "decided"
    return [
        f"conversation {journal.key}: {fault}"
        for journal in list_journals(place)
        for fault in journal.find_tally_faults(run_counts, permissions[journal.key])
    ]


def list_answers(place: RecordSource) -> dict[int, Any]:
    """Return what each question was answered with."""
    return {row[0]: row[6] for row in place.rows(_INQUIRIES)}
