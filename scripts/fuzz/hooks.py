"""Makes schema-valid requests valid where a JSON Schema cannot say what is: loaded by Schemathesis."""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    # Schemathesis leaves out the key of these when they are sent, but not once they have been changed.
    phase = case.meta.phase.data if case.meta else None
    if getattr(phase, "parameter", None) == "Authorization":
        return
    # An answer is replayed for a day, also after its resource is deleted, and a key with another body is refused
    # (specification, "Limits"). Schemathesis repeats the keys of its examples, and expects a resource of each 201.
    key = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(key, str) and 0 < len(key) <= 200 and all(" " <= character <= "~" for character in key):
        case.headers["Idempotency-Key"] = f"{key}-{uuid.uuid4()}"
    # Cursors are authenticated, and a feed goes on only after events that it has: no schema describes either. Those of
    # wrong requests stay.
    generation = case.meta.generation if case.meta else None
    if generation and generation.mode.is_positive and case.query:
        case.query.pop("cursor", None)
        case.query.pop("after", None)
