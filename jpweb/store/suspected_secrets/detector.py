"""Finds likely secrets in a text, by the patterns of detect-secrets that name their issuer.

Of the library only patterns are used: it never sends anything to verify a secret. Patterns of
entropy and of variable names are left out, because they mask ordinary text.

A regular expression holds the interpreter's lock while it searches, and some of the library's
take quadratic time. So each searches ``WINDOW_CHARS`` at a time: at most 12 ms on hostile text.

Most texts are short and hold nothing, so a pattern searches only where one of its ``_NEEDLES`` is:
17,632 texts of a workspace take 0.35 s instead of 0.8.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

#: Characters that a pattern searches at a time, and those that two windows share.
WINDOW_CHARS, OVERLAP_CHARS = 1_000, 300
#: Characters of a text that are searched, and seconds of an event; the rest is not searched.
MAX_TEXT_CHARS, MAX_EVENT_SECONDS = 1_000_000, 2.0
#: Different secrets of one text, and of one event.
MAX_SECRETS = 50
#: Characters of a private key, with its first and last line.
_MAX_PRIVATE_KEY_CHARS = 16_000
#: Characters from which on a group of a pattern is the secret, and not one of its prefixes.
_MIN_GROUP_CHARS = 8
#: Seconds from which on a window is followed by a pause as long, for other threads.
_SLOW_WINDOW_SECONDS = 0.002

#: Modules of the library, and the names of their detectors.
_DETECTORS = {
    "artifactory": "ArtifactoryDetector",
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "basic_auth": "BasicAuthDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "jwt": "JwtTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "private_key": "PrivateKeyDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
#: Keys that the library does not know.
_OWN_PATTERNS = (
    ("Anthropic API Key", re.compile(r"sk-ant-[A-Za-z0-9_-]{24,200}")),
    ("GitHub Token", re.compile(r"github_pat_[A-Za-z0-9_]{40,200}")),
    ("Google API Key", re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("OpenAI API Key", re.compile(r"sk-(?:proj|svcacct)-[A-Za-z0-9_-]{40,200}")),
)
#: Texts in lower case of which each match of a kind's patterns holds at least one.
_NEEDLES = {
    "AWS Access Key": ("a3t", "abia", "acca", "akia", "asia", "aws"),
    "Anthropic API Key": ("sk-ant-",),
    "Artifactory Credentials": ("akc", "ap"),
    "Azure Storage Account access key": ("accountkey=",),
    "Basic Auth Credentials": ("://",),
    "Discord Bot Token": (".",),
    "GitHub Token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab Token": ("gl", "gr1348941"),
    "Google API Key": ("aiza",),
    "JSON Web Token": (".eyj",),
    "Mailchimp Access Key": ("-us",),
    "NPM tokens": (":_authtoken=",),
    "OpenAI API Key": ("sk-proj-", "sk-svcacct-"),
    "OpenAI Token": ("t3blbkfj",),
    "Private Key": ("private key", "ssh2 encrypted", "putty-user-key"),
    "PyPI Token": ("pypi-",),
    "SendGrid API Key": ("sg.",),
    "Slack Token": ("xox", "hooks.slack.com"),
    "Square OAuth Secret": ("sq0csp-",),
    "Stripe Access Key": ("k_live_",),
    "Telegram Bot Token": (":",),
    "Twilio API Key": ("ac", "sk"),
}
_KINDS_BY_NEEDLE = [(needle, kind) for kind, needles in _NEEDLES.items() for needle in needles]
_PRIVATE_KEY = "Private Key"
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{1,40}-----")
#: The rest of a token that a window cut.
_TOKEN_REST = re.compile(r"[A-Za-z0-9_.=+/-]{0,4000}")


#: A kind of secrets, and an expression that finds them.
_Pattern = tuple[str, re.Pattern[str]]


class Finding(NamedTuple):
    """A suspected secret in a text, from ``start`` to before ``end``."""

    kind: str
    start: int
    end: int


def start_event() -> float:
    """Return the end of the time in which the texts of an event are searched."""
    return time.monotonic() + MAX_EVENT_SECONDS


def find_secrets(text: str, deadline: float) -> list[Finding]:
    """Return the suspected secrets, in order and disjoint, as far as found in time.

    Of equal ones it is the first: whatever masks it masks all.
    """
    findings: dict[str, Finding] = {}
    if not _choose_patterns(text[:MAX_TEXT_CHARS]):
        return []
    step = WINDOW_CHARS - OVERLAP_CHARS
    for offset in range(0, min(max(len(text), 1), MAX_TEXT_CHARS), step):
        begun_at = time.monotonic()
        if begun_at > deadline:
            break
        for finding in _search_window(text, offset):
            findings.setdefault(text[finding.start : finding.end], finding)
        if len(findings) >= MAX_SECRETS or offset + WINDOW_CHARS >= len(text):
            break
        elapsed_seconds = time.monotonic() - begun_at
        if elapsed_seconds > _SLOW_WINDOW_SECONDS:
            time.sleep(elapsed_seconds)
    return _drop_overlaps(sorted(findings.values(), key=lambda finding: finding.start))


def _search_window(text: str, offset: int) -> Iterator[Finding]:
    window = text[offset : offset + WINDOW_CHARS]
    for kind, pattern in _choose_patterns(window):
        for match in pattern.finditer(window):
            start, end = _choose_span(match)
            yield _extend(text, Finding(kind, offset + start, offset + end), len(window) + offset)


def _choose_patterns(text: str) -> list[_Pattern]:
    """Return the patterns that may match in a text, with their kinds."""
    lower_text = text.lower()
    kinds = {kind for needle, kind in _KINDS_BY_NEEDLE if needle in lower_text}
    return [pattern for pattern in load_patterns() if pattern[0] in kinds] if kinds else []


def _choose_span(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of the first group where it is long enough, or that of the match."""
    if match.re.groups and match.group(1) and len(match.group(1)) >= _MIN_GROUP_CHARS:
        return match.span(1)
    return match.span()


def _extend(text: str, finding: Finding, window_end: int) -> Finding:
    """Return a finding with its whole key, or the rest of the token that the window cut."""
    kind, start, end = finding
    if kind == _PRIVATE_KEY:
        key_end = _KEY_END.search(text, end, start + _MAX_PRIVATE_KEY_CHARS)
        end = key_end.end() if key_end else min(len(text), start + _MAX_PRIVATE_KEY_CHARS)
        return Finding(
            kind, start - 5 if text[max(start - 5, 0) : start] == "-----" else start, end
        )
    if end == window_end:
        rest_match = _TOKEN_REST.match(text, end)
        end = rest_match.end() if rest_match else end
    while start < end and text[start] in ' \t\n\r=:"':
        start += 1
    while end > start and text[end - 1] in ' \t\n\r"':
        end -= 1
    return Finding(kind, start, end)


def _drop_overlaps(findings: list[Finding]) -> list[Finding]:
    """Return findings joined where they overlap; the first names the kind."""
    joined_findings: list[Finding] = []
    for finding in findings:
        if joined_findings and finding.start < joined_findings[-1].end:
            last_finding = joined_findings[-1]
            joined_findings[-1] = last_finding._replace(end=max(last_finding.end, finding.end))
        elif finding.end > finding.start:
            joined_findings.append(finding)
    return joined_findings[:MAX_SECRETS]


@cache
def load_patterns() -> list[_Pattern]:
    """Return the patterns with their kinds; the first use imports the library in 0.1 s."""
    patterns = list(_OWN_PATTERNS)
    for module_name, class_name in _DETECTORS.items():
        module = import_module(f"detect_secrets.plugins.{module_name}")
        detector = getattr(module, class_name)
        patterns += [(str(detector.secret_type), pattern) for pattern in detector.denylist]
    return patterns
