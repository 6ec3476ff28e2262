"""Settings that are texts: taken as they are, and what they cannot be is one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jpweb.web import checks
from tests.machine.fixtures import ReadSettings


def test_secret_key_that_begins_with_a_dollar_sign_is_that_key(
    read_settings: ReadSettings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("USER", "ada")
    assert read_settings(JPWEB_SECRET_KEY="$USER")["SECRET_KEY"] == "$USER"
    assert read_settings(JPWEB_SECRET_KEY="$2b$12$abc")["SECRET_KEY"] == "$2b$12$abc"


def test_empty_secret_key_is_made_once(read_settings: ReadSettings, tmp_path: Path):
    made_key = read_settings(JPWEB_SECRET_KEY="")["SECRET_KEY"]
    assert made_key == (tmp_path / "secret-key").read_text()
    assert read_settings()["SECRET_KEY"] == made_key


@pytest.mark.parametrize("text", ["", "\n"], ids=["empty", "blank"])
def test_empty_file_of_the_secret_key_is_refused_by_its_path(
    read_settings: ReadSettings, tmp_path: Path, text: str
):
    path = tmp_path / "secret-key"
    path.write_text(text)
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings()
    assert str(error.value) == (
        f"{path} is empty: put back the copy of this file, or set JPWEB_SECRET_KEY."
    )
    assert path.read_text() == text


def test_secret_key_is_synced_before_its_file_has_the_name(
    read_settings: ReadSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced_texts: list[str] = []

    def sync(descriptor: int) -> None:
        assert not (tmp_path / "secret-key").exists()
        synced_texts.append(Path(f"/proc/self/fd/{descriptor}").read_text())

    monkeypatch.setattr(os, "fsync", sync)
    key = read_settings()["SECRET_KEY"]
    assert synced_texts == [key]


@pytest.mark.parametrize(
    ("variable", "source"), [("", "{folder}/secret-key"), ("key\n", "JPWEB_SECRET_KEY")]
)
def test_check_names_a_secret_key_that_white_space_surrounds(
    read_settings: ReadSettings, settings: Any, tmp_path: Path, variable: str, source: str
):
    (tmp_path / "secret-key").write_text("key\n")
    values = read_settings(JPWEB_SECRET_KEY=variable)
    assert values["SECRET_KEY"] == "key\n"
    settings.SECRET_KEY, settings.SECRET_KEY_SOURCE = "key", values["SECRET_KEY_SOURCE"]
    assert checks.check_secret_key() == []
    settings.SECRET_KEY = values["SECRET_KEY"]
    (warning,) = checks.check_secret_key()
    assert f"The secret key in {source.format(folder=tmp_path)} begins or ends" in warning.msg


@pytest.mark.parametrize(
    "url",
    ["localhost:6379", "redis://host:port", "redis://:canary/%@host:6379/0"],
    ids=["no scheme", "no port", "slash in the password"],
)
def test_redis_address_that_is_none_is_one_line_without_it(read_settings: ReadSettings, url: str):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(REDIS_URL=url)
    message = str(error.value)
    assert message.startswith("REDIS_URL is not an address such as redis://HOST. In a password, ")
    assert "canary" not in message
    assert "\n" not in message


def test_runs_are_embedded_or_those_of_workers_with_postgresql_and_redis(
    read_settings: ReadSettings,
):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(JPWEB_RUNS="many")
    assert str(error.value) == "JPWEB_RUNS must be embedded or workers, not “many”."
    database = {"DATABASE_URL": "postgres://ada@host/jpweb"}
    redis = {"REDIS_URL": "redis://host"}
    for variables, need in ((database, "Redis"), (redis, "PostgreSQL")):
        with pytest.raises(ImproperlyConfigured, match=f"^JPWEB_RUNS=workers needs {need} "):
            read_settings(JPWEB_RUNS="workers", **variables)
    assert read_settings(JPWEB_RUNS="workers", **database, **redis)["RUN_MODE"] == "workers"


def test_empty_database_address_is_sqlite_in_the_data_folder(
    read_settings: ReadSettings, tmp_path: Path
):
    values = read_settings(DATABASE_URL="")
    assert values["IS_SQLITE"]
    assert values["DATABASES"]["default"]["NAME"] == str(tmp_path / "jpweb.sqlite3")


@pytest.mark.parametrize(
    "url",
    [
        *("db.example.org/jpweb", "mysql://ada@host/jpweb", "postgres://ada@host:port/jpweb"),
        *("postgres://ada:canary/%@host/jpweb", "postgres://ada:12/canary@host/jpweb"),
        "postgres://ada:canary?@host/jpweb",
    ],
)
def test_database_address_that_is_none_is_one_line_without_it(
    read_settings: ReadSettings, url: str
):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(DATABASE_URL=url)
    message = str(error.value)
    assert message.startswith("DATABASE_URL is not an address such as postgres://USER@HOST/NAME. ")
    assert "canary" not in message
    assert "\n" not in message


def test_database_password_may_hold_special_characters_by_their_code(read_settings: ReadSettings):
    database = read_settings(DATABASE_URL="postgres://ada:a%2Fb%23c%3Fd@host/jpweb")["DATABASES"][
        "default"
    ]
    assert (database["PASSWORD"], database["NAME"]) == ("a/b#c?d", "jpweb")


@pytest.mark.parametrize("text", ["info", " Info "])
def test_log_level_may_be_written_in_small_letters(read_settings: ReadSettings, text: str):
    assert read_settings(JPWEB_LOG_LEVEL=text)["LOGGING"]["root"]["level"] == "INFO"


def test_unknown_log_level_is_one_line(read_settings: ReadSettings):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(JPWEB_LOG_LEVEL="loud")
    allowed = "DEBUG, INFO, WARNING, ERROR or CRITICAL"
    assert str(error.value) == f"JPWEB_LOG_LEVEL must be {allowed}, not “LOUD”."


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("jp.example.org, www.example.org ,", ["jp.example.org", "www.example.org"]),
        ("", ["127.0.0.1", "localhost", "[::1]"]),
    ],
    ids=["spaces", "empty"],
)
def test_hosts_have_no_spaces_and_empty_ones_are_the_default(
    read_settings: ReadSettings, text: str, hosts: list[str]
):
    assert read_settings(JPWEB_HOSTS=text, JPWEB_URL="")["ALLOWED_HOSTS"] == hosts


def test_database_is_in_a_data_folder_whose_name_has_special_characters(
    read_settings: ReadSettings, tmp_path: Path
):
    data = tmp_path / "a+b #1 %41?x"
    database = read_settings(JPWEB_DATA=str(data))["DATABASES"]["default"]
    assert database["NAME"] == str(data / "jpweb.sqlite3")


@pytest.mark.parametrize(
    ("text", "is_on"),
    [*((text, True) for text in ("", "true", "On", "1")), *((text, False) for text in ("no", "0"))],
)
def test_switch_is_on_or_off_and_an_empty_one_is_the_default(
    read_settings: ReadSettings, text: str, is_on: bool
):
    assert read_settings(JPWEB_DETECT_SECRETS=text)["DETECT_SECRETS"] is is_on


def test_switch_that_is_neither_is_one_line(read_settings: ReadSettings):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(JPWEB_DETECT_SECRETS="ture")
    assert str(error.value) == "JPWEB_DETECT_SECRETS must be true or false, not “ture”."


def test_unknown_variable_is_a_warning_that_names_the_closest_setting(
    monkeypatch: pytest.MonkeyPatch,
):
    for name in ("JPWEB_IDLE_HOUR", "JPWEB_OIDC_COMPANY_URL", "JPWEB_CONTEXT", "JPWEB_CHAOS_SEED"):
        monkeypatch.setenv(name, "1")
    (warning,) = checks.check_variables()
    assert warning.msg == "JPWEB_IDLE_HOUR is not a jpweb setting and has no effect."
    assert warning.hint == "Did you mean JPWEB_IDLE_HOURS?"


def test_relative_file_of_kept_heads_is_a_whole_path(read_settings: ReadSettings):
    values = read_settings(JPWEB_LEDGER_HEADS="kept/../heads.jsonl")
    assert values["LEDGER_HEADS"] == Path.cwd() / "heads.jsonl"


def test_secret_key_that_is_no_text_is_refused_in_one_line(read_settings: ReadSettings):
    with pytest.raises(ImproperlyConfigured, match=r"^JPWEB_SECRET_KEY is not text in UTF-8\.$"):
        read_settings(JPWEB_SECRET_KEY=os.fsdecode(b"key\xff"))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ["127.0.0.1", "localhost", "[::1]"]),
        ("JP.example.org., .example.com,*", ["jp.example.org", ".example.com", "*"]),
        ("bücher.example,.bücher.example", ["xn--bcher-kva.example", ".xn--bcher-kva.example"]),
        ("10.0.0.7,[fd00::1]", ["10.0.0.7", "[fd00::1]"]),
    ],
)
def test_hosts_are_those_that_browsers_send(
    read_settings: ReadSettings, text: str, hosts: list[str]
):
    assert read_settings(JPWEB_HOSTS=text)["ALLOWED_HOSTS"] == hosts


@pytest.mark.parametrize(
    "text",
    ["https://jp.example.org", "exa mple.org", "jp.example.org:8000", "fd00::1", "ü..x", "."],
)
def test_host_that_no_browser_sends_is_refused_in_one_line(read_settings: ReadSettings, text: str):
    with pytest.raises(ImproperlyConfigured) as error:
        read_settings(JPWEB_HOSTS=f"127.0.0.1,{text}")
    assert str(error.value) == (
        "JPWEB_HOSTS must hold names such as jp.example.org, without https:// and port, "
        f"not “{text}”."
    )


def test_network_that_is_none_is_refused_in_one_line(read_settings: ReadSettings):
    allowed = read_settings(JPWEB_NOTIFY_PRIVATE="Mail.lan,10.0.0.1/8")["NOTIFY_PRIVATE"]
    assert allowed == ("mail.lan", "10.0.0.1/8")
    with pytest.raises(ImproperlyConfigured, match=r"such as 10\.0\.0\.0/8, not “10\.0\.0\.0/99”"):
        read_settings(JPWEB_NOTIFY_PRIVATE="10.0.0.0/99")
