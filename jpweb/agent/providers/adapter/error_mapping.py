"""Maps a vendor's error to ProviderFailed: one sentence naming the vendor and the next step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx2
from pydantic import ValidationError
from pydantic_ai import exceptions

from jpweb.agent.config.display import escape_invisible
from jpweb.agent.errors import FailureKind, ProviderFailed
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from jpweb.agent.providers.adapter.retry_advice import read_retry_advice
from jpweb.agent.providers.adapter.surrogates import join_surrogates
from jpweb.agent.redaction import SecretAnswer, redact_text

#: Every error that a request may end with. The libraries raise a ValueError for what they cannot
#: send (the name of a model, characters) and for a reply that they cannot read, and the json module
#: a RecursionError for one that is nested too deeply.
VENDOR_ERRORS = (
    exceptions.AgentRunError,
    exceptions.UserError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    ValueError,
    RecursionError,
)
_MAX_DETAIL_CHARS = 500
_MAX_NAME_CHARS = 128
_SERVER_ERROR = 500
_KindTable: TypeAlias = tuple[tuple[type[Exception], FailureKind], ...]
#: Failure kinds by error class; the first match applies.
_KIND_BY_CLASS: _KindTable = (
    (exceptions.ModelContextWindowExceededError, FailureKind.CONTEXT_LENGTH),
    (exceptions.ModelAuthenticationError, FailureKind.WRONG_KEY),
    (exceptions.ModelRateLimitError, FailureKind.RATE_LIMIT),
    (exceptions.ModelUnavailableError, FailureKind.UNAVAILABLE),
    (exceptions.ModelServerError, FailureKind.UNAVAILABLE),
    (exceptions.ModelTimeoutError, FailureKind.UNAVAILABLE),
    (exceptions.ModelRequestTimeout, FailureKind.UNAVAILABLE),
    (exceptions.ContentFilterError, FailureKind.REFUSAL),
    (exceptions.ModelQuotaExceededError, FailureKind.BAD_REQUEST),
    (exceptions.ModelRequestRejectedError, FailureKind.BAD_REQUEST),
    (exceptions.UserError, FailureKind.BAD_REQUEST),
    (httpx2.InvalidURL, FailureKind.BAD_REQUEST),
    (httpx2.UnsupportedProtocol, FailureKind.BAD_REQUEST),
    (httpx2.TimeoutException, FailureKind.UNAVAILABLE),
    (httpx2.ConnectError, FailureKind.UNAVAILABLE),
    (json.JSONDecodeError, FailureKind.BROKEN_OFF),
    (ValueError, FailureKind.BAD_REQUEST),
)
_KIND_BY_STATUS = {408: FailureKind.UNAVAILABLE, 413: FailureKind.CONTEXT_LENGTH}
#: Failure kinds by the status of an error to which the library gave no class.
_KIND_OF_PLAIN_STATUS = {
    401: FailureKind.WRONG_KEY,
    403: FailureKind.WRONG_KEY,
    429: FailureKind.RATE_LIMIT,
}
#: Failure kinds by a phrase of the vendor's message, where the error class is too general.
_KIND_BY_PHRASE = (
    ("exceed_context_size", FailureKind.CONTEXT_LENGTH),  # llama.cpp
    ("exceeds the maximum number of tokens", FailureKind.CONTEXT_LENGTH),  # Google
    ("exceeds the context length", FailureKind.CONTEXT_LENGTH),  # Ollama
    ("exceeded max context length", FailureKind.CONTEXT_LENGTH),  # Ollama
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


def map_error(error: Exception, endpoint: ModelEndpoint) -> ProviderFailed:
    """Return the ProviderFailed to raise in place of the error."""
    retry_after = read_retry_advice(error, endpoint.model.provider)
    return make_failure(_classify_error(error), endpoint, _get_error_detail(error), retry_after)


def make_failure(
    kind: FailureKind, endpoint: ModelEndpoint, detail: str = "", retry_after: float | None = None
) -> ProviderFailed:
    """Return a failure; ``detail`` is the vendor's own message, of any length."""
    sentence = _SENTENCES[kind].format(
        title=endpoint.title,
        model=endpoint.model.name,
        url=_mask_url(endpoint.base_url),
        key=endpoint.key_env or "the server's settings",
    )
    # some vendors repeat the key that they refuse
    detail_text = " ".join(
        redact_text(_list_endpoint_secrets(endpoint), join_surrogates(detail)).split()
    )
    if len(detail_text) > _MAX_DETAIL_CHARS:
        detail_text = f"{detail_text[:_MAX_DETAIL_CHARS]}…"
    return ProviderFailed(
        f"{sentence} Details: {detail_text}" if detail_text else sentence, kind, retry_after
    )


def make_broken_call_failure(tool_name: str, endpoint: ModelEndpoint) -> ProviderFailed:
    """Return the failure of a reply that calls a tool with arguments that no event can hold."""
    name = escape_invisible(tool_name[:_MAX_NAME_CHARS])
    return ProviderFailed(
        f"{endpoint.title} called the tool “{name}” with arguments that are not a JSON object, "
        "so the call was left out. Try again, or choose another model.",
        FailureKind.TRUNCATED,
    )


def _mask_url(url: str) -> str:
    """Return the address without the parts that may hold a key."""
    scheme, slashes, remainder = url.rpartition("://")
    host, slash, path = remainder.partition("?")[0].partition("/")
    return f"{scheme}{slashes}{host.rpartition('@')[2]}{slash}{path}"


def _list_endpoint_secrets(endpoint: ModelEndpoint) -> list[SecretAnswer]:
    """Return the secrets of an endpoint: the key, and the address's credentials and query."""
    _, _, remainder = endpoint.base_url.partition("://")
    parts = (
        endpoint.key or "",
        remainder.partition("?")[2],
        remainder.partition("?")[0].rpartition("@")[0],
    )
    return [SecretAnswer(part) for part in parts]


def _classify_error(error: Exception) -> FailureKind:
    body_text = f"{getattr(error, 'body', '')} {getattr(error, 'provider_error_type', '')}".lower()
    by_phrase = (kind for phrase, kind in _KIND_BY_PHRASE if phrase in body_text)
    by_class = (kind for error_class, kind in _KIND_BY_CLASS if isinstance(error, error_class))
    return (
        next(by_phrase, None)
        or _classify_status(error)
        or next(by_class, None)
        or _classify_phase(error)
    )


def _classify_status(error: Exception) -> FailureKind | None:
    if not isinstance(error, exceptions.ModelHTTPError):
        return None
    return (
        FailureKind.REFUSAL if _is_flagged(error.body) else _KIND_BY_STATUS.get(error.status_code)
    )


def _classify_phase(error: Exception) -> FailureKind:
    """Classify a connection error by its phase; a status is a bad request."""
    if isinstance(error, exceptions.ModelConnectionError):
        return FailureKind.BROKEN_OFF if error.phase == "read" else FailureKind.UNAVAILABLE
    if not isinstance(error, exceptions.ModelHTTPError):
        return FailureKind.BROKEN_OFF
    default = FailureKind.UNAVAILABLE if error.status_code >= _SERVER_ERROR else None
    kind = _KIND_OF_PLAIN_STATUS.get(error.status_code, default)
    return kind or FailureKind.BAD_REQUEST


def _is_flagged(body: object) -> bool:
    """Tell whether OpenRouter's moderation stopped the request."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return isinstance(metadata, Mapping) and ("flagged_input" in metadata or "reasons" in metadata)


def _get_error_detail(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first_detail = error.errors(include_url=False, include_context=False, include_input=False)[
            0
        ]
        return f"{'.'.join(map(str, first_detail['loc']))}: {first_detail['msg']}"
    if not isinstance(error, exceptions.ModelHTTPError):
        return str(getattr(error, "message", error))
    return _read_vendor_message(error.body)


def _read_vendor_message(body: Any) -> str:
    """Return the message within a vendor's error, however deep it is nested."""
    while isinstance(body, Mapping):
        body = body.get("error") or body.get("message") or body.get("detail")
    return body if isinstance(body, str) else ""
