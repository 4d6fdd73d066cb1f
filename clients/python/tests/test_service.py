"""The client with the whole service: `npm start`."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from conftest import Service

from rms_client import (
    AsyncRms,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionFailedError,
    Rms,
)

T = TypeVar("T")


def wait_for(find: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + 60
    while True:
        found = find()
        if found:
            return found
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_resources(service: Service) -> None:
    with Rms(**service) as rms:
        created = rms.resources.create({"name": "Über", "metadata": {"team": "blue"}}, idempotency_key="python-1")
        assert (created.status, created.is_replayed, created.request_id[:4]) == (201, False, "req_")
        replayed = rms.resources.create({"name": "Über", "metadata": {"team": "blue"}}, idempotency_key="python-1")
        assert (replayed.is_replayed, replayed.data["id"]) == (True, created.data["id"])
        one = created.data["id"]

        etag = rms.resources.get(one).etag
        unchanged = rms.resources.get(one, if_none_match=etag)
        assert (unchanged.status, unchanged.data, unchanged.etag) == (304, None, etag)
        changed = rms.resources.update(one, {"status": "archived"}, if_match=etag)
        assert (changed.data["status"], changed.data["metadata"]) == ("archived", {"team": "blue"})
        with pytest.raises(PreconditionFailedError):
            rms.resources.update(one, {"name": "B"}, if_match=etag)

        for number in range(104):
            rms.resources.create({"name": f"Item {number}", "type": "advanced"})
        names = [item["name"] for item in rms.resources.list({"sort": "name", "status": "active"})]
        assert len({name for name in names if name.startswith("Item ")}) == 104
        page = rms.resources.list({"per_page": 2, "sort": "name"}).page()
        following = page.next()
        assert following is not None and (first := following.previous()) is not None
        assert (page.meta["per_page"], first.data) == (2, page.data)

        assert rms.resources.delete(one, if_match=changed.etag).status == 204
        with pytest.raises(NotFoundError) as missing:
            rms.resources.get(one)
        assert (missing.value.code, missing.value.request_id[:4]) == ("not_found", "req_")


def test_errors(service: Service) -> None:
    with Rms(**service) as rms:
        with pytest.raises(InvalidRequestError) as invalid:
            rms.resources.create({"name": ""})
        assert [violation.field for violation in invalid.value.violations] == ["name"]
        reading = rms.keys.create({"name": "reading", "scope": "read"}).data
        with Rms(url=service["url"], api_key=reading["key"]) as reader:
            with pytest.raises(PermissionDeniedError) as forbidden:
                reader.resources.create({"name": "A"})
        assert forbidden.value.code == "insufficient_scope"


def test_webhooks_deliveries_and_replays(service: Service) -> None:
    with Rms(**service) as rms, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        # Nothing listens on the port, so the delivery is retried.
        url = f"https://127.0.0.1:{unused.getsockname()[1]}/hook"
        webhook = rms.webhooks.create({"url": url, "events": ["resource.created"]}).data
        assert rms.webhooks.rotate_secret(webhook["id"], {"overlap": 60}).data["secret"] != webhook["secret"]
        assert rms.webhooks.update(webhook["id"], {"ordered": True}).data["ordered"] is True
        assert rms.webhooks.test(webhook["id"]).data["error"] is not None
        resource = rms.resources.create({"name": "Delivered"}).data

        def delivery_id() -> str | None:
            found = rms.deliveries.list({"webhook_id": webhook["id"], "resource_id": resource["id"]}).page().data
            return found[0]["id"] if found and found[0]["attempt_count"] > 0 else None

        delivery = wait_for(delivery_id, "the delivery in the log")
        assert len(rms.deliveries.get(delivery).data["attempts"]) >= 1
        assert rms.deliveries.cancel(delivery).data["status"] == "canceled"
        with pytest.raises(ConflictError):
            rms.deliveries.cancel(delivery)
        assert rms.deliveries.redeliver(delivery).status == 202
        # Replays select deliveries that have failed at least once.
        wait_for(lambda: rms.deliveries.get(delivery).data["status"] in ("retrying", "failed"), "the failed attempt")

        estimate = rms.replays.create(
            {"webhook_id": webhook["id"], "created_after": resource["created_at"], "dry_run": True}
        ).data
        assert estimate["matching"] == 1
        replay = rms.replays.create({"webhook_id": webhook["id"], "created_after": resource["created_at"]}).data
        assert "id" in replay
        assert rms.replays.get(replay["id"]).data["webhook_id"] == webhook["id"]
        assert replay["id"] in [one["id"] for one in rms.replays.list().page().data]
        assert rms.replays.cancel(replay["id"]).data["status"] in ("done", "canceled")
        assert rms.webhooks.get(webhook["id"]).data["id"] in [one["id"] for one in rms.webhooks.list()]
        assert rms.webhooks.delete(webhook["id"]).status == 204


def test_the_feed(service: Service) -> None:
    with Rms(**service) as rms:
        resource = rms.resources.create({"name": "Followed"}).data
        for event in rms.events.feed(follow=True, poll_interval=0.05):
            if event["data"] and event["data"]["object"]["id"] == resource["id"]:
                break
        assert rms.events.get(event["id"]).data == event
        assert rms.events.list({"after": event["sequence"] - 1}).page().data[0] == event
        sequences = [one["sequence"] for one in rms.events.feed()]
        assert sequences[: event["sequence"]] == list(range(1, event["sequence"] + 1))


def test_keys_requests_audit_and_workspace(service: Service) -> None:
    with Rms(**service) as rms:
        key = rms.keys.create({"name": "temporary", "scope": "read"}).data
        successor = rms.keys.roll(key["id"], {"overlap": 60}).data
        assert rms.keys.get(key["id"]).data["rolled_to"] == successor["id"]
        renamed = rms.keys.update(successor["id"], {"name": "renamed"})
        assert "renamed" in [one["name"] for one in rms.keys.list({"status": "active"})]
        assert rms.keys.revoke(successor["id"]).status == 204

        def logged() -> int | None:
            try:
                found = rms.requests.get(renamed.request_id).data["requests"]
            except NotFoundError:
                return None
            return found[0]["status"] if found else None

        assert wait_for(logged, "the request in the log") == 200
        listed = rms.requests.list({"method": "PATCH", "route": "/v1/api_keys/{id}"}).page().data
        assert renamed.request_id in [one["request_id"] for one in listed]
        actions = {entry["action"] for entry in rms.audit.list({"target_id": successor["id"]})}
        assert {"key.revoked", "key.updated"} <= actions
        assert rms.workspace.get().data["type"] == "workspace"


def test_asyncio(service: Service) -> None:
    async def main() -> None:
        async with AsyncRms(**service) as rms:
            created = await rms.resources.create({"name": "Asynchronous"})
            read = await rms.resources.get(created.data["id"])
            assert read.data == created.data
            names = [one["name"] async for one in rms.resources.list({"sort": "name"})]
            assert "Asynchronous" in names
            with pytest.raises(PreconditionFailedError):
                await rms.resources.delete(created.data["id"], if_match='"0.a"')

    asyncio.run(main())
