from standardwebhooks.webhooks import Webhook, WebhookVerificationError

def verify_signature(headers, body: bytes, secrets: list[str]) -> bool:
    """Like verify_signature without a library, with the package `standardwebhooks`."""
    for secret in secrets:
        try:
            Webhook(secret).verify(body, dict(headers))
            return True
        except (WebhookVerificationError, ValueError):  # ValueError: a header or the body is malformed
            continue
    return False
