from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypedDict, Union

import pytest

from rms_client import Rms


@dataclass(frozen=True)
class Received:
    """A request to the local server."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Response:
    """A response of the local server. A body of None closes the connection without a response."""

    status: int = 200
    body: Union[bytes, dict[str, Any], None] = b""
    headers: Union[dict[str, str], None] = None


class Server:
    """A server on loopback. `respond` returns the response to a request; `requests` has all requests."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.respond: Callable[[Received], Response] = lambda _: Response(body={"data": {"id": "res_1"}})
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                text = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(self.command, self.path, headers, json.loads(text) if text else None)
                server.requests.append(request)
                response = server.respond(request)
                if response.body is None:
                    self.close_connection = True
                    return
                body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
                self.send_response(response.status)
                for name, value in (response.headers or {}).items():
                    self.send_header(name, value)
                if response.status not in (204, 304):
                    self.send_header("content-length", str(len(body)))
                # The client may have given up.
                with contextlib.suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def respond_with(self, *responses: Response) -> None:
        """Sends each of the responses once, then 200."""
        remaining = iter(responses)
        self.respond = lambda _: next(remaining, Response(body={"data": {"id": "res_1"}}))

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def local(server: Server) -> Iterator[Rms]:
    """A client of the local server."""
    with Rms(url=server.url, api_key="sk_test_secret") as client:
        yield client


class Service(TypedDict):
    """Arguments of a client."""

    url: str
    api_key: str


@pytest.fixture(scope="session")
def service() -> Service:
    """Arguments for a client of the whole service, which scripts/test-clients.mjs starts."""
    return {"url": os.environ["RMS_URL"], "api_key": os.environ["RMS_API_KEY"]}
