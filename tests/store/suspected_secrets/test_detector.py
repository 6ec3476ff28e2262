"""The detector: kinds of secrets by their form, ordinary text, and hostile text."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.store.suspected_secrets import detector
from tests.machine.sizes import choose_size

PRIVATE_KEY = (
    f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIE' * 16}\n{'abcd' * 16}\n-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("kind", "secret", "around"),
    [
        ("AWS Access Key", "AKIAABCDEFGH12345678", "key: {} ."),
        ("AWS Access Key", "a1b2" * 10, "aws_secret_key = '{}'"),
        ("Anthropic API Key", f"sk-ant-api03-{'a1B2' * 20}", "x {} y"),
        ("GitHub Token", f"ghp_{'a1B2' * 9}", "token={}"),
        ("Basic Auth Credentials", "correct-horse", "https://ada:{}@example.org/x"),
        ("Private Key", PRIVATE_KEY, "before\n{}\nafter"),
        ("JSON Web Token", f"eyJhbGciOiJIUzI1NiJ9.eyJ{'a1' * 900}.{'b2' * 20}", "Bearer {}"),
    ],
    ids=["aws-id", "aws-secret", "anthropic", "github", "basic-auth", "private-key", "long-token"],
)
@pytest.mark.parametrize("lead", ["", "x" * 990 + " "], ids=["short", "across-windows"])
def test_find_secrets_covers_the_whole_secret(kind: str, secret: str, around: str, lead: str):
    text = lead + around.format(secret)
    findings = detector.find_secrets(text, detector.start_event())
    assert [(finding.kind, text[finding.start : finding.end]) for finding in findings] == [
        (kind, secret)
    ]


@pytest.mark.parametrize(
    "pattern",
    # The second part of a JSON Web Token is JSON, of which the pattern knows nothing.
    [pattern for kind, pattern in detector.load_patterns() if kind != "JSON Web Token"],
    ids=lambda pattern: pattern.pattern,
)
@given(st.data())
@settings(max_examples=choose_size(3, 50))
def test_find_secrets_searches_every_text_that_a_pattern_matches(
    pattern: re.Pattern[str], data: st.DataObject
):
    assert detector.find_secrets(data.draw(st.from_regex(pattern)), float("inf")) != []


@pytest.mark.parametrize(
    "text",
    [
        "sha256:" + "ab12" * 16,
        "password = input('Password: ')",
        "see https://example.org/a:b and user@example.org",
        "commit 5b42093c1f0e9d8a7b6c5d4e3f2a1b0c9d8e7f6a",
    ],
    ids=["hash", "code", "addresses", "commit"],
)
def test_find_secrets_in_ordinary_text_is_empty(text: str):
    assert detector.find_secrets(text, detector.start_event()) == []


@pytest.mark.parametrize(
    "piece",
    ["//" * 480 + ":_authToken=", "sk-" * 320 + "T3BlbkFJ", "eyJ" * 300 + ".eyJ", "://a:", "AKIA"],
    ids=["npm", "openai", "jwt", "basic-auth", "aws"],
)
def test_find_secrets_in_hostile_text_ends_at_its_limits(
    piece: str, monkeypatch: pytest.MonkeyPatch
):
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 10)
    text = piece * (2_000_000 // len(piece)) + " AKIAABCDEFGH12345678"
    assert len(detector.find_secrets(text, detector.start_event())) <= detector.MAX_SECRETS
    assert next(ticks) <= detector.MAX_EVENT_SECONDS * 10 + 5
