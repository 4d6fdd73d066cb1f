"""Sends requests, and repeats those that take effect once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Union

import httpx

from ._core import Call, Calls, CompleteResponse, Result, connection_error_of, outcome_of, result_of, retry_delay
from .errors import RmsError


class Transport:
    """Sends requests and waits for the responses."""

    def __init__(self, calls: Calls, http_client: httpx.Client) -> None:
        self._calls = calls
        self._http_client = http_client

    def send(
        self,
        method: str,
        path: str,
        options: Mapping[str, Any],
        *,
        query: object = None,
        body: object = None,
        is_keyed: bool = False,
    ) -> Result[Any]:
        """Sends the request of an operation on one object, and returns its result. Raises RmsError."""
        return result_of(self._repeat(self._calls.make(method, path, options, query, body, is_keyed)))

    def read(self, path: str, options: Mapping[str, Any]) -> Any:
        """Returns the document of a list. Raises RmsError."""
        return self._repeat(self._calls.make("GET", path, options, None, None, False)).document

    def _repeat(self, call: Call) -> CompleteResponse:
        retries = 0
        while True:
            outcome = self._attempt(call.request)
            if not isinstance(outcome, RmsError):
                return outcome
            delay = retry_delay(call, outcome, retries)
            if delay is None:
                raise outcome
            time.sleep(delay)
            retries += 1

    def _attempt(self, request: httpx.Request) -> Union[CompleteResponse, RmsError]:
        try:
            return outcome_of(self._http_client.send(request, auth=None, follow_redirects=False))
        except httpx.HTTPError as error:
            return connection_error_of(request, error)


class AsyncTransport:
    """Sends requests; its methods are coroutines."""

    def __init__(self, calls: Calls, http_client: httpx.AsyncClient) -> None:
        self._calls = calls
        self._http_client = http_client

    async def send(
        self,
        method: str,
        path: str,
        options: Mapping[str, Any],
        *,
        query: object = None,
        body: object = None,
        is_keyed: bool = False,
    ) -> Result[Any]:
        """Sends the request of an operation on one object, and returns its result. Raises RmsError."""
        return result_of(await self._repeat(self._calls.make(method, path, options, query, body, is_keyed)))

    async def read(self, path: str, options: Mapping[str, Any]) -> Any:
        """Returns the document of a list. Raises RmsError."""
        return (await self._repeat(self._calls.make("GET", path, options, None, None, False))).document

    async def _repeat(self, call: Call) -> CompleteResponse:
        retries = 0
        while True:
            outcome = await self._attempt(call.request)
            if not isinstance(outcome, RmsError):
                return outcome
            delay = retry_delay(call, outcome, retries)
            if delay is None:
                raise outcome
            await asyncio.sleep(delay)
            retries += 1

    async def _attempt(self, request: httpx.Request) -> Union[CompleteResponse, RmsError]:
        try:
            return outcome_of(await self._http_client.send(request, auth=None, follow_redirects=False))
        except httpx.HTTPError as error:
            return connection_error_of(request, error)
