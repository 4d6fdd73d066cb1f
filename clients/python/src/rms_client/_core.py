"""What the synchronous and the asynchronous client share: requests, results and the rules of retries, without I/O."""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

import httpx

from .errors import ApiError, ConnectionFailedError, RateLimitError, RmsError, api_error_of

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 60.0
DEFAULT_RETRIES = 3
_FIRST_BACKOFF_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 8.0
_MAX_RETRY_AFTER_SECONDS = 60.0
"""A longer Retry-After, for example of a monthly quota, ends the call."""
_RETRIED_STATUSES = {408, 429, 502, 503, 504}
"""With these, the service has not decided about the request, or was not reached."""


class CallOptions(TypedDict, total=False):
    """Settings of one call."""

    timeout: float
    """Seconds to connect, and to wait for the next bytes of the response. Default: the client's."""
    max_retries: float
    """Attempts after the first one; may be math.inf. Default: the client's."""
    headers: Mapping[str, str]
    """More headers, for example `traceparent` or `x-request-id`."""


class ReadOptions(CallOptions, total=False):
    """Settings of a call that reads an object."""

    if_none_match: Union[str, None]
    """ETag of an earlier result. If the object is the same, the result has status 304 and no data."""


class ChangeOptions(CallOptions, total=False):
    """Settings of a call that changes or deletes an object."""

    if_match: Union[str, None]
    """ETag of an earlier result. If the object has changed, raises PreconditionFailedError."""


class CreateOptions(CallOptions, total=False):
    """Settings of a call that creates an object or starts an action."""

    idempotency_key: Union[str, None]
    """Key with which a repeated call within 24 hours returns the first result. Default: a random key, so that the
    retries of a call take effect once.
    """


@dataclass(frozen=True)
class Result(Generic[T]):
    """A successful response."""

    data: T
    status: int
    etag: Union[str, None]
    """Version of the object for `if_match` and `if_none_match`; None if the response has none."""
    request_id: str
    """X-Request-ID, by which the request log finds the request."""
    is_replayed: bool
    """Whether this is the response to an earlier call with the same idempotency key."""
    headers: httpx.Headers


@dataclass(frozen=True)
class CompleteResponse:
    """A successful response whose body has arrived. `document` is None without a body."""

    status: int
    headers: httpx.Headers
    document: Any


@dataclass(frozen=True)
class Call:
    """A request and the rules of its retries."""

    request: httpx.Request
    is_repeatable: bool
    max_retries: float


class Calls:
    """Makes the requests of a client."""

    def __init__(
        self, url: str, api_key: str, timeout: float, max_retries: float, headers: Union[Mapping[str, str], None]
    ) -> None:
        self._url = _base_of(url)
        if not re.fullmatch("[!-~]+", api_key):
            raise ValueError("`api_key` is empty, or has characters that no API key has")
        self._headers = {**(headers or {}), "accept": "application/json", "authorization": f"Bearer {api_key}"}
        self._timeout = timeout
        self._max_retries = max_retries

    def make(
        self, method: str, path: str, options: Mapping[str, Any], query: object, body: object, is_keyed: bool
    ) -> Call:
        """Makes the request of an operation. `path` may have a query."""
        headers = httpx.Headers({"user-agent": "rms-client-python"})
        headers.update(options.get("headers") or {})
        headers.update(self._headers)
        content = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
            headers["content-type"] = "application/json"
        for name in ("if_match", "if_none_match"):
            if options.get(name) is not None:
                headers[name.replace("_", "-")] = options[name]
        if is_keyed:
            headers["idempotency-key"] = options.get("idempotency_key") or uuid.uuid4().hex
        has_version = headers.get("if-match", "*").strip() != "*"
        timeout = httpx.Timeout(options.get("timeout", self._timeout)).as_dict()
        url = f"{self._url}{path}{search_of(query)}"
        return Call(
            request=httpx.Request(method, url, headers=headers, content=content, extensions={"timeout": timeout}),
            # A PATCH that is repeated after a change by another client would undo that change, unless it has an ETag.
            is_repeatable=is_keyed if method == "POST" else method != "PATCH" or has_version,
            max_retries=options.get("max_retries", self._max_retries),
        )


def outcome_of(response: httpx.Response) -> Union[CompleteResponse, ApiError]:
    """Returns what a complete response means."""
    status, headers = response.status_code, response.headers
    if status in (204, 304):
        return CompleteResponse(status, headers, None)
    try:
        document = json.loads(response.content)
    except ValueError:
        document = None
    if response.is_success and isinstance(document, dict):
        return CompleteResponse(status, headers, document)
    return api_error_of(response, document)


def connection_error_of(request: httpx.Request, error: httpx.HTTPError) -> ConnectionFailedError:
    """Returns the error of a call without a response."""
    address = str(request.url.copy_with(query=None))
    result = ConnectionFailedError(f"{address}: {error or type(error).__name__}")
    result.__cause__ = error
    return result


def retry_delay(call: Call, error: RmsError, retries: int) -> Union[float, None]:
    """Returns the seconds before the next attempt, with jitter; None if the call ends with the error."""
    if retries >= call.max_retries or not (call.is_repeatable or isinstance(error, RateLimitError)):
        return None
    backoff: float = min(_MAX_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2 ** min(retries, 10)) * random.uniform(0.5, 1)
    if not isinstance(error, ApiError):
        return backoff
    retry_after: float = error.retry_after or 0.0
    if error.status not in _RETRIED_STATUSES or retry_after > _MAX_RETRY_AFTER_SECONDS:
        return None
    return max(backoff, retry_after * random.uniform(1, 1.1))


def result_of(response: CompleteResponse) -> Result[Any]:
    """Returns the result of an operation on one object."""
    headers = response.headers
    return Result(
        data=response.document["data"] if response.document and "data" in response.document else None,
        status=response.status,
        etag=headers.get("etag"),
        request_id=headers.get("x-request-id", ""),
        is_replayed=headers.get("idempotency-replayed") == "true",
        headers=headers,
    )


def path_of(template: str, *ids: str) -> str:
    """Makes a path with encoded IDs. Raises ValueError for an ID that would change the other segments."""
    remaining: Iterator[str] = iter(ids)

    def encoded(_: re.Match[str]) -> str:
        one = next(remaining)
        if one in ("", ".", ".."):
            raise ValueError(f"{one!r} is not an ID")
        return quote(one, safe="")

    return re.sub(r"\{\w+\}", encoded, template)


def search_of(query: object) -> str:
    """Returns the query as text, empty or beginning with `?`. Fields that are None are left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in (query if isinstance(query, Mapping) else {}).items():
        if isinstance(value, Mapping):
            pairs += [(f"{name}[{key}]", _text(one)) for key, one in value.items()]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            pairs += [(name, _text(one)) for one in value]
        elif value is not None:
            pairs.append((name, _text(value)))
    return f"?{urlencode(pairs)}" if pairs else ""


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _base_of(url: str) -> str:
    """Returns the URL to which paths that begin with `/v1` are appended."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("`url` must begin with https:// or http://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("`url` must have no user, query or fragment")
    path = re.sub("/v1$", "", parts.path.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{path}"
