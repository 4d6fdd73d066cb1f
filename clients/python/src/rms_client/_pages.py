"""Lists and the event feed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, Union
from urllib.parse import urlsplit

from ._core import search_of
from ._transport import AsyncTransport, Transport

Item = TypeVar("Item")
Meta = TypeVar("Meta")

_ITEMS_PER_REQUEST = 100
"""Items of a page unless the caller chooses a number: the maximum, for the fewest requests."""


class _PageFields(Generic[Item, Meta]):
    data: Sequence[Item]
    """Can be empty although there is a next page."""
    meta: Meta
    links: Mapping[str, Union[str, None]]

    def _take(self, document: Any) -> None:
        self.data = document["data"]
        self.meta = document["meta"]
        self.links = document["links"]

    def _search(self, link: str) -> Union[str, None]:
        """Returns only the query: the key is sent to no other address than the client's."""
        url = self.links[link]
        return None if url is None else f"?{urlsplit(url).query}"


class Page(_PageFields[Item, Meta]):
    """A page of a list."""

    def __init__(self, transport: Transport, path: str, search: str, options: Mapping[str, Any]) -> None:
        self._source = (transport, path, options)
        self._take(transport.read(path + search, options))

    def next(self) -> Union[Page[Item, Meta], None]:
        """Reads the next page. Returns None after the last one."""
        return self._follow("next")

    def previous(self) -> Union[Page[Item, Meta], None]:
        """Reads the previous page. Returns None before the first one, and if the list can only be read forward."""
        return self._follow("prev")

    def _follow(self, link: str) -> Union[Page[Item, Meta], None]:
        transport, path, options = self._source
        search = self._search(link)
        return None if search is None else Page(transport, path, search, options)


class List(Generic[Item, Meta]):
    """A list, which is read when it is iterated, page after page: `for item in list`."""

    def __init__(self, transport: Transport, path: str, query: object, options: Mapping[str, Any]) -> None:
        self._source = (transport, path, options)
        self._query = query

    def page(self) -> Page[Item, Meta]:
        """Reads the first page, with 20 items unless the query has `per_page`."""
        transport, path, options = self._source
        return Page(transport, path, search_of(self._query), options)

    def __iter__(self) -> Iterator[Item]:
        """Yields all items. Holds one page in memory."""
        transport, path, options = self._source
        page: Union[Page[Item, Meta], None] = Page(transport, path, _full(self._query), options)
        while page is not None:
            yield from page.data
            page = page.next()


class AsyncPage(_PageFields[Item, Meta]):
    """A page of a list."""

    def __init__(self, transport: AsyncTransport, path: str, options: Mapping[str, Any], document: Any) -> None:
        self._source = (transport, path, options)
        self._take(document)

    async def next(self) -> Union[AsyncPage[Item, Meta], None]:
        """Reads the next page. Returns None after the last one."""
        return await self._follow("next")

    async def previous(self) -> Union[AsyncPage[Item, Meta], None]:
        """Reads the previous page. Returns None before the first one, and if the list can only be read forward."""
        return await self._follow("prev")

    async def _follow(self, link: str) -> Union[AsyncPage[Item, Meta], None]:
        transport, path, options = self._source
        search = self._search(link)
        if search is None:
            return None
        return AsyncPage(transport, path, options, await transport.read(path + search, options))


class AsyncList(Generic[Item, Meta]):
    """A list, which is read when it is iterated, page after page: `async for item in list`."""

    def __init__(self, transport: AsyncTransport, path: str, query: object, options: Mapping[str, Any]) -> None:
        self._source = (transport, path, options)
        self._query = query

    async def page(self) -> AsyncPage[Item, Meta]:
        """Reads the first page, with 20 items unless the query has `per_page`."""
        return await self._first(search_of(self._query))

    async def _first(self, search: str) -> AsyncPage[Item, Meta]:
        transport, path, options = self._source
        return AsyncPage(transport, path, options, await transport.read(path + search, options))

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Yields all items. Holds one page in memory."""
        page: Union[AsyncPage[Item, Meta], None] = await self._first(_full(self._query))
        while page is not None:
            for item in page.data:
                yield item
            page = await page.next()


def _full(query: object) -> str:
    return search_of({"per_page": _ITEMS_PER_REQUEST, **(query if isinstance(query, Mapping) else {})})


def read_feed(
    transport: Transport, path: str, after: int, follow: bool, poll_interval: float, options: Mapping[str, Any]
) -> Iterator[Any]:
    """Yields the events of a feed in order, from the first one after `after`."""
    position = after
    while True:
        document = transport.read(path + _full({"after": position}), options)
        for event in document["data"]:
            yield event
            position = event["sequence"]
        if document["links"]["next"] is not None and document["data"]:
            continue
        if not follow:
            return
        time.sleep(poll_interval)


async def read_feed_async(
    transport: AsyncTransport, path: str, after: int, follow: bool, poll_interval: float, options: Mapping[str, Any]
) -> AsyncIterator[Any]:
    """Yields the events of a feed in order, from the first one after `after`."""
    position = after
    while True:
        document = await transport.read(path + _full({"after": position}), options)
        for event in document["data"]:
            yield event
            position = event["sequence"]
        if document["links"]["next"] is not None and document["data"]:
            continue
        if not follow:
            return
        await asyncio.sleep(poll_interval)
