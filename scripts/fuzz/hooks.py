"""Schemathesis hooks: adjust schema-valid requests to rules that no JSON Schema can express."""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    # Schemathesis tests authentication by sending requests without the key. It would add the key to a modified request.
    phase = case.meta.phase.data if case.meta else None
    if getattr(phase, "parameter", None) == "Authorization":
        return
    # A response is replayed for a day, even after its resource is deleted, and a key with a different body is rejected.
    # Schemathesis reuses the keys of its examples and expects a new resource for each 201.
    key = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(key, str) and 0 < len(key) <= 200 and all(" " <= character <= "~" for character in key):
        case.headers["Idempotency-Key"] = f"{key}-{uuid.uuid4()}"
    # Cursors are authenticated, and `after` must be the sequence of an existing event; no schema describes either.
    # Negative tests keep them.
    generation = case.meta.generation if case.meta else None
    if generation and generation.mode.is_positive and case.query:
        case.query.pop("cursor", None)
        case.query.pop("after", None)
