"""The client of the rms API."""

from ._client import AsyncRms, Rms
from ._core import CallOptions, ChangeOptions, CreateOptions, ReadOptions, Result
from ._pages import AsyncList, AsyncPage, List, Page
from .errors import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionFailedError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionFailedError,
    RateLimitError,
    RmsError,
    ServiceError,
    Violation,
    WebhookVerificationError,
)
from .webhooks import ReceivedHeaders, verify_webhook

__all__ = [
    "ApiError",
    "AsyncList",
    "AsyncPage",
    "AsyncRms",
    "AuthenticationError",
    "CallOptions",
    "ChangeOptions",
    "ConflictError",
    "ConnectionFailedError",
    "CreateOptions",
    "InvalidRequestError",
    "List",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "RateLimitError",
    "ReadOptions",
    "ReceivedHeaders",
    "Result",
    "Rms",
    "RmsError",
    "ServiceError",
    "Violation",
    "WebhookVerificationError",
    "verify_webhook",
]
