"""What a vendor's error is to a turn: one sentence that names the vendor and the next step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx2
from pydantic import ValidationError
from pydantic_ai import exceptions as library

from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.providers.library.characters import whole
from jpweb.agent.providers.library.opening import Link
from jpweb.agent.redaction import SecretAnswer, without

#: Every error that a request may end with. The libraries raise a ValueError for what they cannot
#: send (the name of a model, characters) and for a reply that they cannot read.
ERRORS = (
    library.AgentRunError,
    library.UserError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    ValueError,
)
_LONGEST = 500
_Kinds: TypeAlias = tuple[tuple[type[Exception], FailureKind], ...]
#: The first that fits counts.
_KINDS: _Kinds = (
    (library.ModelContextWindowExceededError, FailureKind.CONTEXT_LENGTH),
    (library.ModelAuthenticationError, FailureKind.WRONG_KEY),
    (library.ModelRateLimitError, FailureKind.RATE_LIMIT),
    (library.ModelUnavailableError, FailureKind.UNAVAILABLE),
    (library.ModelServerError, FailureKind.UNAVAILABLE),
    (library.ModelTimeoutError, FailureKind.UNAVAILABLE),
    (library.ModelRequestTimeout, FailureKind.UNAVAILABLE),
    (library.ContentFilterError, FailureKind.REFUSAL),
    (library.ModelQuotaExceededError, FailureKind.BAD_REQUEST),
    (library.ModelRequestRejectedError, FailureKind.BAD_REQUEST),
    (library.UserError, FailureKind.BAD_REQUEST),
    (httpx2.InvalidURL, FailureKind.BAD_REQUEST),
    (httpx2.UnsupportedProtocol, FailureKind.BAD_REQUEST),
    (json.JSONDecodeError, FailureKind.BROKEN_OFF),
    (ValueError, FailureKind.BAD_REQUEST),
)
_STATUS = {408: FailureKind.UNAVAILABLE, 413: FailureKind.CONTEXT_LENGTH}
#: What the library does not tell apart, by the vendor's own words, within any error.
_WORDS = (
    ("exceed_context_size", FailureKind.CONTEXT_LENGTH),  # llama.cpp
    ("exceeds the maximum number of tokens", FailureKind.CONTEXT_LENGTH),  # Google
    ("api key not valid", FailureKind.WRONG_KEY),  # Google, as a 400
)
_SENTENCES: Mapping[FailureKind, str] = {
    FailureKind.CONTEXT_LENGTH: "The conversation is too long for {model} ({title}). Compact it, "
    "or choose a model with a larger context window.",
    FailureKind.RATE_LIMIT: "{title}: rate limit reached. Try again later.",
    FailureKind.REFUSAL: "{title} refused to answer. Rephrase, or choose another model.",
    FailureKind.TRUNCATED: "The reply from {title} was cut off at its token limit. "
    "Raise max_tokens, or ask for less.",
    FailureKind.WRONG_KEY: "{title} rejected the API key. Check {key}.",
    FailureKind.UNAVAILABLE: "{title} at {url} can't be reached or is overloaded. Try again later.",
    FailureKind.BROKEN_OFF: "The reply from {title} ended before it was complete. Try again.",
    FailureKind.BAD_REQUEST: "{title} rejected the request. Check the model {model} and "
    "its parameters.",
}


def failure(error: Exception, link: Link) -> ProviderFailed:
    """Return what to raise in its place."""
    retry_after = error.retry_after if isinstance(error, library.ModelAPIError) else None
    return failed(_kind(error), link, _detail(error), retry_after)


def failed(
    kind: FailureKind, link: Link, detail: str = "", retry_after: float | None = None
) -> ProviderFailed:
    """Return a failure; ``detail`` is the vendor's own message, of any length."""
    sentence = _SENTENCES[kind].format(
        title=link.title,
        model=link.model.name,
        url=_shown(link.base_url),
        key=link.key_env or "the server's settings",
    )
    # some vendors repeat the key that they refuse
    said = " ".join(without(_kept(link), whole(detail)).split())
    if len(said) > _LONGEST:
        said = f"{said[:_LONGEST]}…"
    return ProviderFailed(f"{sentence} Details: {said}" if said else sentence, kind, retry_after)


def _shown(url: str) -> str:
    """Return the address without what may be a key."""
    scheme, slashes, rest = url.rpartition("://")
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"


def _kept(link: Link) -> list[SecretAnswer]:
    """Return what no sentence may hold: the key, and what the address has besides a place."""
    _, _, rest = link.base_url.partition("://")
    parts = (link.key or "", rest.partition("?")[2], rest.partition("?")[0].rpartition("@")[0])
    return [SecretAnswer(part) for part in parts]


def _kind(error: Exception) -> FailureKind:
    words = f"{getattr(error, 'body', '')} {getattr(error, 'provider_error_type', '')}".lower()
    by_words = (kind for word, kind in _WORDS if word in words)
    by_class = (kind for known, kind in _KINDS if isinstance(error, known))
    return next(by_words, None) or _by_status(error) or next(by_class, None) or _by_phase(error)


def _by_status(error: Exception) -> FailureKind | None:
    if not isinstance(error, library.ModelHTTPError):
        return None
    return FailureKind.REFUSAL if _flagged(error.body) else _STATUS.get(error.status_code)


def _by_phase(error: Exception) -> FailureKind:
    """Tell a connection that never was from one that was lost, and a status from neither."""
    if isinstance(error, library.ModelConnectionError):
        return FailureKind.BROKEN_OFF if error.phase == "read" else FailureKind.UNAVAILABLE
    http = isinstance(error, library.ModelHTTPError)
    return FailureKind.BAD_REQUEST if http else FailureKind.BROKEN_OFF


def _flagged(body: object) -> bool:
    """Tell whether OpenRouter's moderation stopped the request."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return isinstance(metadata, Mapping) and ("flagged_input" in metadata or "reasons" in metadata)


def _detail(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if not isinstance(error, library.ModelHTTPError):
        return str(getattr(error, "message", error))
    return _message(error.body)


def _message(body: Any) -> str:
    """Return the message within a vendor's error, whatever it is wrapped in."""
    while isinstance(body, Mapping):
        body = body.get("error") or body.get("message") or body.get("detail")
    return body if isinstance(body, str) else ""
