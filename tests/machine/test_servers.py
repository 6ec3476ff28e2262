from __future__ import annotations

import psycopg
import redis

from tests.machine.servers import Cluster


def test_postgres_fixture_returns_new_empty_databases(postgres: Cluster):
    first, second = postgres(), postgres()
    assert first != second
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE answers (text TEXT)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('answers')").fetchone() == (None,)


def test_redis_answers_and_keeps_nothing_on_disk(redis_url: str):
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping()
        assert client.config_get("save") == {"save": ""}


def test_make_migrated_returns_databases_that_share_nothing(postgres: Cluster):
    first, second = postgres.make_migrated(), postgres.make_migrated()
    assert first != second
    with psycopg.connect(first) as connection:
        connection.execute("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('', '')")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM store_run").fetchone() == (0,)
