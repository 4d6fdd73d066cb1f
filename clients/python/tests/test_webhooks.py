from __future__ import annotations

import base64
import hashlib
import hmac
import json
import pathlib
import time
from typing import Any

import pytest

from rms_client import WebhookVerificationError, verify_webhook

document = json.loads((pathlib.Path(__file__).parents[2] / "webhook-vectors.json").read_text("utf-8"))
SECRET = f"whsec_{base64.b64encode(b'a' * 32).decode()}"
BODY = '{"id":"evt_1","name":"Grüße 李"}'


@pytest.mark.parametrize("vector", [pytest.param(one, id=one["name"]) for one in document["vectors"]])
def test_vector(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(vector.get("now", document["now"])))
    payload = base64.b64decode(vector["payload_base64"])
    arguments = (payload, vector["headers"], vector["secrets"])
    if vector["outcome"] == "event":
        assert verify_webhook(*arguments) == json.loads(payload)
    elif vector["outcome"] == "rejected":
        with pytest.raises(WebhookVerificationError):
            verify_webhook(*arguments)
    else:
        with pytest.raises(ValueError, match=r"secret"):
            verify_webhook(*arguments)


def signed(age_seconds: float = 0) -> dict[str, str]:
    timestamp = str(int(time.time() - age_seconds))
    digest = hmac.digest(b"a" * 32, f"evt_1.{timestamp}.{BODY}".encode(), hashlib.sha256)
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"Webhook-Id": "evt_1", "Webhook-Timestamp": timestamp, "Webhook-Signature": signature}


def test_payload_as_text_and_as_bytes() -> None:
    assert verify_webhook(BODY, signed(), SECRET) == verify_webhook(BODY.encode(), signed(), SECRET)


def test_tolerance() -> None:
    verify_webhook(BODY, signed(20), SECRET, tolerance_seconds=30)
    for tolerance in (10, float("nan")):
        with pytest.raises(WebhookVerificationError, match="tolerance"):
            verify_webhook(BODY, signed(20), SECRET, tolerance_seconds=tolerance)


def test_a_repeated_header_is_rejected() -> None:
    class Repeated:
        def items(self) -> list[tuple[str, str]]:
            return [*signed().items(), ("webhook-signature", "v1,a")]

    with pytest.raises(WebhookVerificationError, match="webhook-signature is missing"):
        verify_webhook(BODY, Repeated(), SECRET)


def test_errors_do_not_contain_the_secret() -> None:
    with pytest.raises(ValueError) as error:
        verify_webhook(BODY, signed(), "whsec_Zm9v")
    assert "Zm9v" not in str(error.value)
