"""The clients."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Union

import httpx

from ._core import DEFAULT_RETRIES, DEFAULT_TIMEOUT_SECONDS, Calls
from ._operations import AsyncNouns, Nouns
from ._transport import AsyncTransport, Transport


class Rms(Nouns):
    """A client of the API of one workspace and environment, with the operations by noun: `rms.resources.create(…)`.

    It may be shared by threads. Close it, or use it in a `with` statement.

    url: address of the API of one environment, for example `https://api.example.com`. A path is a prefix of all paths.
    api_key: secret, `sk_live_…` or `sk_test_…`.
    timeout: seconds to connect, and to wait for the next bytes of a response.
    max_retries: attempts after the first one.
    headers: headers of every request.
    http_client: sends the requests, for example with a proxy or other certificates. The caller closes it.
    """

    def __init__(
        self,
        *,
        url: str,
        api_key: str,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: float = DEFAULT_RETRIES,
        headers: Union[Mapping[str, str], None] = None,
        http_client: Union[httpx.Client, None] = None,
    ) -> None:
        calls = Calls(url, api_key, timeout, max_retries, headers)
        used = http_client or httpx.Client()
        self._own_client = None if http_client else used
        super().__init__(Transport(calls, used))

    def close(self) -> None:
        """Closes the connections."""
        if self._own_client:
            self._own_client.close()

    def __enter__(self) -> Rms:
        return self

    def __exit__(
        self,
        kind: Union[type[BaseException], None],
        error: Union[BaseException, None],
        traceback: Union[TracebackType, None],
    ) -> None:
        self.close()


class AsyncRms(AsyncNouns):
    """The client for asyncio. Its operations are coroutines, and its lists asynchronous iterators.

    The parameters are those of `Rms`. Close it, or use it in an `async with` statement.
    """

    def __init__(
        self,
        *,
        url: str,
        api_key: str,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: float = DEFAULT_RETRIES,
        headers: Union[Mapping[str, str], None] = None,
        http_client: Union[httpx.AsyncClient, None] = None,
    ) -> None:
        calls = Calls(url, api_key, timeout, max_retries, headers)
        used = http_client or httpx.AsyncClient()
        self._own_client = None if http_client else used
        super().__init__(AsyncTransport(calls, used))

    async def close(self) -> None:
        """Closes the connections."""
        if self._own_client:
            await self._own_client.aclose()

    async def __aenter__(self) -> AsyncRms:
        return self

    async def __aexit__(
        self,
        kind: Union[type[BaseException], None],
        error: Union[BaseException, None],
        traceback: Union[TracebackType, None],
    ) -> None:
        await self.close()
