"""Verification of webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import Protocol, Union, cast

from .errors import WebhookVerificationError
from .types import WebhookEvent

_MIN_SECRET_BYTES = 24
"""Minimum length of a secret (Standard Webhooks), without which a secret that is not set would verify anything."""


class ReceivedHeaders(Protocol):
    """Headers of a received request: a dict, or those of Flask, Django, Starlette and others."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify_webhook(
    payload: Union[bytes, str],
    headers: ReceivedHeaders,
    secrets: Union[str, Sequence[str]],
    *,
    tolerance_seconds: float = 300,
) -> WebhookEvent:
    """Verifies the signature of a received request, and returns its event. Types of later versions of the service may
    occur.

    Raises WebhookVerificationError unless one of the secrets signed the request within the tolerance, and ValueError if
    there is no secret, or one is malformed.

    payload: the raw body, before any parsing.
    secrets: `whsec_…` of the webhook; during a rotation, the new and the previous one.
    tolerance_seconds: maximum difference between the timestamp of the request and the clock.
    """
    keys = [_key_of(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("there is no secret to verify with")
    event_id = _header_of(headers, "webhook-id")
    timestamp = _header_of(headers, "webhook-timestamp")
    signatures = _header_of(headers, "webhook-signature")
    if not (event_id and timestamp and signatures):
        raise WebhookVerificationError("webhook-id, webhook-timestamp or webhook-signature is missing")
    age = time.time() - int(timestamp) if re.fullmatch("[0-9]{1,12}", timestamp) else float("nan")
    if not abs(age) <= tolerance_seconds:
        raise WebhookVerificationError("webhook-timestamp is not a time within the tolerance")
    body = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
    # "surrogatepass": headers that are not ASCII raise no exception.
    signed = f"{event_id}.{timestamp}.".encode("utf-8", "surrogatepass") + body
    sent = [signature.encode("utf-8", "surrogatepass") for signature in signatures.split(" ")]
    for key in keys:
        expected = b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
        # The texts are compared, because decoding would ignore trailing characters.
        if any(hmac.compare_digest(expected, signature) for signature in sent):
            return _event_of(body)
    raise WebhookVerificationError("no signature in webhook-signature is of a known secret")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if len(key) < _MIN_SECRET_BYTES:
        # The message does not contain the secret.
        raise ValueError(f'a webhook secret is "whsec_" and at least {_MIN_SECRET_BYTES} bytes in base64')
    return key


def _header_of(headers: ReceivedHeaders, name: str) -> str:
    """Returns the value of a header, empty if it is missing or repeated."""
    values = [value for key, value in headers.items() if key.lower() == name]
    return values[0] if len(values) == 1 else ""


def _event_of(body: bytes) -> WebhookEvent:
    try:
        return cast(WebhookEvent, json.loads(body.decode("utf-8")))
    except ValueError as error:
        raise WebhookVerificationError("the signed body is not JSON") from error
