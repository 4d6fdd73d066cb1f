"""Errors of this package."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Union

import httpx

from .types import ErrorCode


class RmsError(Exception):
    """Superclass of the errors of this package."""


class ConnectionFailedError(RmsError):
    """No complete response arrived: the connection failed, or a time limit passed. `__cause__` is the error of httpx."""


@dataclass(frozen=True)
class Violation:
    """A field of a request that violates a rule."""

    field: str
    """Path of the field, for example `metadata.team`."""
    message: str


class ApiError(RmsError):
    """A response with an error. Its subclasses correspond to the statuses that programs handle."""

    status: int
    """HTTP status."""
    code: Union[ErrorCode, None]
    """Decide by the code, not by the message. None if the response is not of the API but, for example, of a proxy."""
    violations: Sequence[Violation]
    """Invalid fields of a request with the code `invalid_request`; otherwise empty."""
    request_id: str
    """X-Request-ID of the last attempt. Empty if the response has none."""
    retry_after: Union[float, None]
    """Seconds to wait before a retry; None if the response has no Retry-After."""
    doc_url: Union[str, None]
    """Description of the code, if the operator publishes one."""


class InvalidRequestError(ApiError):
    """Status 400. `violations` has every invalid field."""


class AuthenticationError(ApiError):
    """Status 401: the API key is missing, unknown, revoked or expired."""


class PermissionDeniedError(ApiError):
    """Status 403: the API key lacks a scope, or may not be used from this address."""


class NotFoundError(ApiError):
    """Status 404."""


class ConflictError(ApiError):
    """Status 409: the state of the object does not permit the operation, or another request changes it."""


class PreconditionFailedError(ApiError):
    """Status 412: the object has changed since the ETag in `if_match`."""


class RateLimitError(ApiError):
    """Status 429: a rate limit or the monthly quota."""


class ServiceError(ApiError):
    """Status 5xx. A write may have taken effect."""


class WebhookVerificationError(RmsError):
    """A request is not an event that the service signed within the tolerance. Respond to it with status 401."""


_classes: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    429: RateLimitError,
}


def api_error_of(response: httpx.Response, document: object) -> ApiError:
    """Returns the error of a response. `document` is its JSON; None if it is not JSON."""
    found = document.get("error") if isinstance(document, dict) else None
    error = found if isinstance(found, dict) and {"code", "message"} <= found.keys() else None
    status = response.status_code
    request_id = response.headers.get("x-request-id", "")
    about = f"{status} {error['code'] if error else 'not a response of the API'}"
    if request_id:
        about += f", request {request_id}"
    message = error["message"] if error else "The response is not of the API. Check `url`."
    result = _classes.get(status, ServiceError if status >= 500 else ApiError)(f"{message} ({about})")
    result.status = status
    result.code = error["code"] if error else None
    details = error.get("details") or [] if error else []
    result.violations = [Violation(one.get("field", ""), one.get("message", "")) for one in details]
    result.request_id = request_id
    result.retry_after = _retry_after_of(response.headers.get("retry-after", ""))
    result.doc_url = error.get("doc_url") if error else None
    return result


def _retry_after_of(value: str) -> Union[float, None]:
    """Returns the seconds of a Retry-After, which has a number of seconds or a date."""
    if re.fullmatch("[0-9]{1,9}", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        return max(0.0, (until - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
    except (ValueError, TypeError):
        return None
