import base64, hmac, re, time

def verify_signature(headers, body: bytes, secrets: list[str]) -> bool:
    """Returns whether the service signed the request within the last five minutes.

    headers: lowercase names, or names that are not case-sensitive. body: the raw bytes, before any parsing.
    secrets: the current "whsec_…" and, during a rotation, the previous one.
    """
    event_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    signatures = headers.get("webhook-signature", "").split(" ")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > 300:
        return False
    # "surrogatepass": headers that are not ASCII raise no exception.
    signed = f"{event_id}.{timestamp}.".encode("utf-8", "surrogatepass") + body
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        if len(key) < 24:
            continue  # not a signing secret
        expected = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
        if any(hmac.compare_digest(expected, sent.encode("utf-8", "surrogatepass")) for sent in signatures):
            return True
    return False

# verify_signature(request.headers, request.get_data(), [os.environ["WEBHOOK_SECRET"]])
