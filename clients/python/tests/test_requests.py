from __future__ import annotations

import asyncio
import email.utils
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from conftest import Received, Response, Server

import rms_client
from rms_client import ApiError, AsyncRms, ConnectionFailedError, RateLimitError, Rms, ServiceError


def failure(code: str, **more: object) -> dict[str, Any]:
    return {"error": {"code": code, "message": "It failed.", "status": 0, **more}}


def test_a_request_and_its_result(server: Server, local: Rms) -> None:
    headers = {"ETag": '"1.a"', "X-Request-ID": "req_1", "Idempotency-Replayed": "true"}
    server.respond_with(Response(body={"data": {"id": "res_1"}}, headers=headers))
    result = local.resources.update("res_1", {"name": "Ü"}, if_match='"0.a"', headers={"X-Extra": "1"})
    assert (result.data["id"], result.status, result.etag, result.request_id) == ("res_1", 200, '"1.a"', "req_1")
    assert result.is_replayed
    [request] = server.requests
    assert (request.method, request.path, request.body) == ("PATCH", "/v1/resources/res_1", {"name": "Ü"})
    expected = {
        "authorization": "Bearer sk_test_secret",
        "content-type": "application/json",
        "if-match": '"0.a"',
        "x-extra": "1",
        "user-agent": "rms-client-python",
    }
    assert expected.items() <= request.headers.items()


def test_not_modified_and_no_content(server: Server, local: Rms) -> None:
    server.respond_with(Response(304, headers={"ETag": '"1.a"'}), Response(204))
    read = local.resources.get("res_1", if_none_match='"1.a"')
    assert (read.status, read.data, read.etag) == (304, None, '"1.a"')
    deleted = local.webhooks.delete("wh_1")
    assert (deleted.status, deleted.data) == (204, None)
    assert server.requests[0].headers["if-none-match"] == '"1.a"'
    assert "content-type" not in server.requests[1].headers


@pytest.mark.parametrize(("path", "prefix"), [("", ""), ("/", ""), ("/v1/", ""), ("/api/v1", "/api"), ("/api/", "/api")])
def test_a_path_in_the_url(server: Server, path: str, prefix: str) -> None:
    with Rms(url=server.url + path, api_key="sk_test_secret") as rms:
        rms.resources.get("res_1")
    assert server.requests[0].path == f"{prefix}/v1/resources/res_1"


def test_ids_are_encoded(server: Server, local: Rms) -> None:
    local.resources.get("a/../b?c#d é")
    assert server.requests[0].path == "/v1/resources/a%2F..%2Fb%3Fc%23d%20%C3%A9"
    for wrong in ("", ".", ".."):
        with pytest.raises(ValueError, match="is not an ID"):
            local.resources.get(wrong)
    assert len(server.requests) == 1


def test_fields_of_a_query(server: Server, local: Rms) -> None:
    server.respond = lambda _: Response(body={"data": [], "meta": {}, "links": {}})
    local.deliveries.list({"status": ["failed", "pending"], "test": False, "event_id": "a&b"}).page()
    query: Any = {"metadata": {"team": "blue"}, "status": None}
    local.resources.list(query).page()
    assert [unquote(request.path) for request in server.requests] == [
        "/v1/deliveries?status=failed&status=pending&test=false&event_id=a&b",
        "/v1/resources?metadata[team]=blue",
    ]


def test_redirects_are_not_followed(server: Server, local: Rms) -> None:
    other = Server()
    try:
        server.respond_with(Response(307, headers={"Location": f"{other.url}/v1/resources/res_1"}))
        with pytest.raises(ApiError) as caught:
            local.resources.get("res_1")
        assert (caught.value.status, caught.value.code, other.requests) == (307, None, [])
    finally:
        other.close()


def test_an_http_client_of_the_caller_stays_open(server: Server) -> None:
    with httpx.Client(headers={"x-own": "1"}, follow_redirects=True) as http_client:
        with Rms(url=server.url, api_key="sk_test_secret", http_client=http_client) as rms:
            rms.resources.get("res_1")
        assert not http_client.is_closed


def test_the_key_is_not_shown() -> None:
    with Rms(url="https://api.example.com", api_key="sk_test_secret") as rms:
        assert "sk_test" not in repr(rms) + repr(vars(rms))
    for key in ("", "sk_test_secret\n", "sk_test_é"):
        with pytest.raises(ValueError, match="^(?!.*sk_test).*api_key"):
            Rms(url="https://api.example.com", api_key=key)


@pytest.mark.parametrize("url", ["", "api.example.com", "ftp://a.example", "https://a:b@a.example", "https://a?b=c"])
def test_a_url_that_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="`url` must"):
        Rms(url=url, api_key="sk_test_secret")


@pytest.mark.parametrize(
    ("status", "code", "name"),
    [
        (400, "invalid_request", "InvalidRequestError"),
        (401, "api_key_expired", "AuthenticationError"),
        (403, "insufficient_scope", "PermissionDeniedError"),
        (404, "not_found", "NotFoundError"),
        (409, "conflict", "ConflictError"),
        (412, "precondition_failed", "PreconditionFailedError"),
        (422, "idempotency_key_reused", "ApiError"),
        (429, "rate_limit_exceeded", "RateLimitError"),
        (500, "internal_error", "ServiceError"),
        (504, "timeout", "ServiceError"),
    ],
)
def test_an_error_response(server: Server, local: Rms, status: int, code: str, name: str) -> None:
    body = failure(code, details=[{"field": "name", "message": "is required"}], doc_url="https://e.example")
    server.respond_with(Response(status, body, {"X-Request-ID": "req_1", "Retry-After": "7"}))
    with pytest.raises(ApiError) as caught:
        local.resources.create({"name": ""}, max_retries=0)
    error = caught.value
    assert type(error) is getattr(rms_client, name)
    assert str(error) == f"It failed. ({status} {code}, request req_1)"
    assert (error.status, error.code, error.request_id) == (status, code, "req_1")
    assert (error.retry_after, error.doc_url) == (7, "https://e.example")
    assert [(one.field, one.message) for one in error.violations] == [("name", "is required")]


@pytest.mark.parametrize(
    ("status", "body"), [(502, b"<html>"), (404, b'{"error":"no"}'), (418, b"null"), (200, b"<html>"), (200, b"")]
)
def test_a_response_that_is_not_of_the_api(server: Server, local: Rms, status: int, body: bytes) -> None:
    server.respond_with(Response(status, body))
    with pytest.raises(ApiError, match="is not of the API") as caught:
        local.resources.get("res_1", max_retries=0)
    assert (caught.value.status, caught.value.code, caught.value.violations) == (status, None, [])


def test_a_date_in_retry_after(server: Server, local: Rms) -> None:
    at = email.utils.formatdate(time.time() + 3_600, usegmt=True)
    server.respond_with(Response(429, failure("quota_exceeded"), {"Retry-After": at}))
    with pytest.raises(RateLimitError) as caught:
        local.resources.get("res_1")
    assert 3_500 < (caught.value.retry_after or 0) <= 3_600


def test_retries_of_a_post_have_its_key(server: Server, local: Rms) -> None:
    server.respond_with(Response(503), Response(504))
    local.resources.create({"name": "A"})
    local.resources.create({"name": "A"})
    local.keys.roll("key_1", idempotency_key="order-7")
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert (len(keys[0]), keys[4]) == (32, "order-7")
    assert [request.body for request in server.requests[:4]] == [{"name": "A"}] * 4


@pytest.mark.parametrize(
    "call",
    [
        lambda rms: rms.resources.get("res_1"),
        lambda rms: rms.resources.delete("res_1"),
        lambda rms: rms.deliveries.cancel("dlv_1"),
        lambda rms: rms.webhooks.set_client_certificate("wh_1", {"certificate": "x", "private_key": "y"}),
        lambda rms: rms.resources.update("res_1", {}, if_match='"1.a"'),
    ],
    ids=["GET", "DELETE", "POST", "PUT", "PATCH with an ETag"],
)
def test_repeated_requests(server: Server, local: Rms, call: Callable[[Rms], object]) -> None:
    server.respond_with(Response(408), Response(502), Response(body=None))
    call(local)
    assert len(server.requests) == 4


def test_a_patch_is_not_repeated_if_it_may_have_taken_effect(server: Server, local: Rms) -> None:
    server.respond_with(Response(503), Response(body=None))
    with pytest.raises(ServiceError):
        local.resources.update("res_1", {})
    with pytest.raises(ConnectionFailedError):
        local.resources.update("res_1", {})
    server.respond_with(Response(503))
    with pytest.raises(ServiceError):
        local.resources.update("res_1", {}, if_match="*")
    assert len(server.requests) == 3


def test_a_patch_is_repeated_after_429_and_retry_after(server: Server, local: Rms) -> None:
    server.respond_with(Response(429, headers={"Retry-After": "1"}))
    started = time.monotonic()
    local.resources.update("res_1", {})
    assert time.monotonic() - started >= 1
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "response", [Response(400), Response(404), Response(409), Response(500), Response(429, headers={"Retry-After": "61"})]
)
def test_a_request_that_is_not_repeated(server: Server, local: Rms, response: Response) -> None:
    server.respond_with(response)
    with pytest.raises(ApiError):
        local.resources.get("res_1")
    assert len(server.requests) == 1


def test_retries_end(server: Server) -> None:
    server.respond = lambda _: Response(503)
    with Rms(url=server.url, api_key="sk_test_secret", max_retries=1) as rms:
        with pytest.raises(ServiceError):
            rms.resources.get("res_1")
        assert len(server.requests) == 2
        with pytest.raises(ServiceError):
            rms.resources.get("res_1", max_retries=0)
        assert len(server.requests) == 3


def test_no_response(server: Server, local: Rms) -> None:
    ended = threading.Event()

    def wait(_: Received) -> Response:
        ended.wait(60)
        return Response()

    server.respond = wait
    with pytest.raises(ConnectionFailedError, match=r"/v1/resources: .*timed out") as caught:
        local.resources.list({"cursor": "secret"}, timeout=0.1, max_retries=0).page()
    ended.set()
    assert isinstance(caught.value.__cause__, httpx.ReadTimeout)
    assert "secret" not in str(caught.value)


def serve_pages(server: Server) -> None:
    """Pages of a list by their cursor. The links have another host."""
    pages: dict[str, tuple[list[str], str | None, str | None]] = {
        "": (["a", "b"], "x", None),
        "x": ([], "y", ""),
        "y": (["c"], None, "x"),
    }

    def respond(request: Received) -> Response:
        cursor = request.path.partition("cursor=")[2]
        items, following, previous = pages[cursor]
        link = [None if to is None else f"https://elsewhere.example/?cursor={to}" for to in (following, previous)]
        links = {"next": link[0], "prev": link[1]}
        return Response(body={"data": [{"id": one} for one in items], "meta": {"total": 3}, "links": links})

    server.respond = respond


def test_a_list(server: Server, local: Rms) -> None:
    serve_pages(server)
    assert [one["id"] for one in local.resources.list({"status": "active"})] == ["a", "b", "c"]
    paths = [request.path for request in server.requests]
    assert paths == ["/v1/resources?per_page=100&status=active", "/v1/resources?cursor=x", "/v1/resources?cursor=y"]
    page = local.resources.list().page()
    following = page.next()
    assert following is not None
    assert (page.meta["total"], page.previous(), following.data) == (3, None, [])
    first = following.previous()
    assert first is not None
    assert first.data == page.data
    assert server.requests[3].path == "/v1/resources"


def serve_feed(server: Server, newest: int) -> None:
    def respond(request: Received) -> Response:
        after = int(request.path.partition("after=")[2].partition("&")[0])
        data = [{"id": f"evt_{i}", "sequence": i} for i in range(after + 1, min(after + 100, newest) + 1)]
        following = "https://elsewhere.example/?after=0" if after + len(data) < newest else None
        return Response(body={"data": data, "meta": {}, "links": {"next": following, "prev": None}})

    server.respond = respond


def test_the_feed(server: Server, local: Rms) -> None:
    serve_feed(server, 250)
    assert [event["sequence"] for event in local.events.feed(after=20)] == list(range(21, 251))
    assert len(server.requests) == 3
    following = local.events.feed(after=249, follow=True, poll_interval=0.01)
    assert next(following)["sequence"] == 250
    serve_feed(server, 251)
    assert next(following)["sequence"] == 251


def test_asyncio(server: Server) -> None:
    async def main() -> None:
        async with AsyncRms(url=server.url, api_key="sk_test_secret") as rms:
            server.respond_with(Response(503), Response(body=None))
            assert (await rms.resources.create({"name": "A"})).data["id"] == "res_1"
            assert len({request.headers["idempotency-key"] for request in server.requests}) == 1
            assert len(server.requests) == 3
            serve_pages(server)
            assert [one["id"] async for one in rms.resources.list()] == ["a", "b", "c"]
            page = await rms.resources.list().page()
            following = await page.next()
            assert following is not None
            assert (await page.previous(), following.data) == (None, [])
            serve_feed(server, 250)
            assert [event["sequence"] async for event in rms.events.feed(after=20)] == list(range(21, 251))
            feed = rms.events.feed(after=250, follow=True, poll_interval=0.01)
            task = asyncio.ensure_future(anext(feed))
            serve_feed(server, 251)
            assert (await task)["sequence"] == 251
            server.respond_with(Response(404, failure("not_found")))
            with pytest.raises(rms_client.NotFoundError):
                await rms.resources.get("res_1")

    asyncio.run(main())
