"""How long a search takes over many events, beside the bare query of the same index.

Ours is what the page calls: what was typed read, what the person may read looked up, words and
access asked of the index, rows joined, snippets lit. The floor is FTS5 alone, on the same table and
index, for the same words: the keys of the newest, as many as a page holds.

Ranking conversations reads up to ten thousand events of each word. Its floor is FTS5 alone, asked
for as many keys of the same words, each joined with the row that names its conversation.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from time import perf_counter
from typing import Any, NamedTuple

from django.db import connection

from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Passage
from jpweb.store.search import (
    conversation_groups,
    dialects,
    engine,
    filter_terms,
    passage_ids,
    query_parser,
)
from jpweb.store.sql import bulk
from tests.load.benchmark import BenchRun, Progress
from tests.load.databases import use_database
from tests.store import making

#: Events of one conversation, and words of one event.
EVENTS = 1000
WORDS = 24
#: How often each query is asked.
ROUNDS = 7
BATCH = 20_000
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
CATEGORIES = ("message", "reasoning", "call", "result")
_COLUMNS = (
    "id", "conversation_id", "position", "part", "item_position", "anchor", "category", "at",
    "body", "tags", "tool", "who", "state", "reason",
)  # fmt: skip


class TypedQuery(NamedTuple):
    """A query as people type it, and as FTS5 takes it."""

    typed: str
    bare: str


def measure_p95(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds within which 95 of 100 queries are answered: ours, and bare."""
    chance = random.Random(7)  # noqa: S311  the same words each time
    vocabulary = [_word(chance) for _ in range(20_000)]
    size = bench.size
    with use_database(bench.make_database()) as path:
        person = _fill(chance, vocabulary, size.passages, progress)
        queries = _queries(chance, vocabulary, size.queries_per_kind)
        with closing(sqlite3.connect(path)) as bare:
            return _measured(bench, person, queries, bare, progress)


def measure_grouped_p95(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the same of the best conversations, by words alone and in pairs."""
    chance = random.Random(7)  # noqa: S311  the same words each time
    vocabulary = [_word(chance) for _ in range(20_000)]
    size = bench.size
    with use_database(bench.make_database()) as path:
        person = _fill(chance, vocabulary, size.passages, progress)
        words = [query.typed for query in _queries(chance, vocabulary, size.queries_per_kind)]
        typed_queries = [typed for typed in words if typed.replace(" ", "").isalpha()]
        with closing(sqlite3.connect(path)) as bare:
            return _measure_groups(bench, person, typed_queries, bare, progress)


def _measure_groups(
    bench: BenchRun,
    person: int,
    typed_queries: Sequence[str],
    bare: sqlite3.Connection,
    progress: Progress,
) -> tuple[float, float]:
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in typed_queries]
    warm_up = bench.size.warm_up_rounds
    total = warm_up + bench.size.limit_rounds(ROUNDS)
    for done in range(total):
        progress(done, total)
        for typed, (ours, floor) in zip(typed_queries, times, strict=True):
            start_time = perf_counter()
            search = engine.make_search(person, query_parser.parse_query(typed))
            grouped = conversation_groups.group_hits(search)
            middle_time = perf_counter()
            matching_rows = {row for word in typed.split() for row in _list_bare(bare, word)}
            end_time = perf_counter()
            if grouped.event_count != len(matching_rows):
                raise AssertionError(f"{typed} finds something else than the index")
            if done >= warm_up:
                ours.append(middle_time - start_time)
                floor.append(end_time - middle_time)
    progress(total, total)
    return _late([ours for ours, _ in times]), _late([floor for _, floor in times])


def _list_bare(bare: sqlite3.Connection, word: str) -> list[tuple[int, int]]:
    return bare.execute(
        "SELECT f.rowid, p.conversation_id FROM store_passage_words f"
        " CROSS JOIN store_passage p ON p.id = f.rowid WHERE store_passage_words MATCH ?"
        " ORDER BY f.rowid DESC LIMIT ?",
        [f'"{word}"', conversation_groups.MAX_EVENTS_PER_TERM],
    ).fetchall()


def _fill(chance: random.Random, vocabulary: Sequence[str], total: int, progress: Progress) -> int:
    """Write the passages, then their index at one go; returns the key of who may read all."""
    workspace = making.workspace()
    person = making.person("reader", Role.READER, workspace)
    conversations = [
        Conversation(
            workspace=workspace, jp_id=n, origin="mirrored", title=f"Talk {n}",
            needs_indexing=False, last_activity=BEGIN,
        )
        for n in range(1, -(-total // EVENTS) + 1)
    ]  # fmt: skip
    conversation_keys = [
        conversation.pk
        for conversation in Conversation.objects.bulk_create(conversations, batch_size=5000)
    ]
    rows = _rows(
        chance, vocabulary, conversation_keys, filter_terms.make_workspace_term(workspace.pk)
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = [row for row in cursor.fetchall() if row[0].startswith(Passage.TABLE)]
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        for done in range(0, total, BATCH):
            progress(done, total)
            bulk.insert_rows(Passage.TABLE, _COLUMNS, list(islice(rows, min(BATCH, total - done))))
        cursor.execute("INSERT INTO store_passage_words(store_passage_words) VALUES ('rebuild')")
        for _, trigger_sql in triggers:
            cursor.execute(trigger_sql)
        cursor.execute("ANALYZE")
    while dialects.merge_segments():  # as a server does in its pauses
        pass
    progress(total, total)
    return person.pk


def _rows(
    chance: random.Random,
    vocabulary: Sequence[str],
    conversations: Sequence[int],
    workspace_terms: str,
) -> Iterator[tuple[Any, ...]]:
    """Yield a passage a minute; a few words are in nearly every one, most in few."""
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    moment = bulk.get_time_adapter()
    number = 0
    while True:
        drawn = chance.choices(vocabulary, weights, k=WORDS * BATCH)
        for nth in range(BATCH):
            at = BEGIN + timedelta(minutes=number)
            conversation, category = (
                conversations[number // EVENTS % len(conversations)],
                CATEGORIES[number % len(CATEGORIES)],
            )
            body = " ".join(drawn[nth * WORDS : (nth + 1) * WORDS])
            terms = f"{filter_terms.make_category_term(category)} {workspace_terms}"
            position = number % EVENTS
            key = passage_ids.get_first_id_at(at) + position
            anchor = f"e-{number:018x}"
            yield (
                key, conversation, position, 0, position, anchor, category, moment(at), body, terms,
                "", "", "", "",
            )  # fmt: skip
            number += 1


def _queries(chance: random.Random, vocabulary: Sequence[str], per_kind: int) -> list[TypedQuery]:
    """Return words, common words, pairs, beginnings and phrases, as many of each."""
    middle, common = vocabulary[100:5000], vocabulary[:60]
    words = [TypedQuery(word, f'"{word}"') for word in chance.sample(middle, per_kind)]
    words += [TypedQuery(word, f'"{word}"') for word in chance.sample(common, per_kind)]
    for first, second in zip(
        chance.sample(middle, per_kind), chance.sample(common, per_kind), strict=True
    ):
        words.append(TypedQuery(f"{first} {second}", f'"{first}" AND "{second}"'))
    words += [
        TypedQuery(f"{word[:4]}*", f'"{word[:4]}" *') for word in chance.sample(middle, per_kind)
    ]
    bodies = Passage.objects.order_by("?").values_list("body", flat=True)[:per_kind]
    for body in bodies:
        first, second = chance.choice(list(pairwise(body.split())))
        words.append(TypedQuery(f'"{first} {second}"', f'"{first} {second}"'))
    return words


def _measured(
    bench: BenchRun,
    person: int,
    queries: Sequence[TypedQuery],
    bare: sqlite3.Connection,
    progress: Progress,
) -> tuple[float, float]:
    """Ask everything both ways in turn; a query counts with the median of its rounds."""
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in queries]
    warm_up = bench.size.warm_up_rounds
    total = warm_up + bench.size.limit_rounds(ROUNDS)
    for done in range(total):
        progress(done, total)
        for query, (ours, floor) in zip(queries, times, strict=True):
            start_time = perf_counter()
            hits = engine.make_search(person, query_parser.parse_query(query.typed)).list_newest()
            middle_time = perf_counter()
            rows = bare.execute(
                "SELECT rowid FROM store_passage_words WHERE store_passage_words MATCH ?"
                " ORDER BY rowid DESC LIMIT ?",
                [query.bare, engine.PAGE_HITS],
            ).fetchall()
            end_time = perf_counter()
            if [hit.key for hit in hits.rows] != [key for (key,) in rows]:
                raise AssertionError(f"{query.typed} finds something else than the index")
            if done >= warm_up:
                ours.append(middle_time - start_time)
                floor.append(end_time - middle_time)
    progress(total, total)
    return _late([ours for ours, _ in times]), _late([floor for _, floor in times])


def _late(times: Sequence[Sequence[float]]) -> float:
    """Return the 95th of a hundred, in milliseconds."""
    return statistics.quantiles([statistics.median(samples) for samples in times], n=20)[-1] * 1000


def _word(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(5, 9)))
