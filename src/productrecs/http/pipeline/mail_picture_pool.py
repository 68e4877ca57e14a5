"""Mail picture pool: fetches products' pictures and draws them with title and price.

A sandboxed process decodes and draws. Mails of one store that ask for many pictures delay
those of other stores only by the pictures that are being made. A host that does not answer
is not asked again for a minute; until then its products are drawn without picture.
"""

import asyncio
import threading
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.core.ids import StoreId
from productrecs.http.pipeline.store_fair_queue import StoreFairQueue
from productrecs.records.pictures.draw_product_card import ProductCard
from productrecs.records.pictures.fetch_picture import (
    PictureUnavailableError,
    fetch_picture,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder

_THREADS: Final = 4
_MAX_WAITING: Final = 64
_FETCH_SECONDS: Final = 3.0
_FRESH_SECONDS: Final = 3_600.0  # the shop may replace a picture at the same address
_RETRY_SECONDS: Final = 60.0
_MAX_HOSTS: Final = 1_000


class _DrawnMailPicture(NamedTuple):
    """A drawn picture, and until when it is used."""

    jpeg: bytes
    until: float


_Key = tuple[StoreId, str, ProductCard, str]


class MailPicturePool:
    """The pictures of one process for mails: drawn once, cached for an hour."""

    def __init__(self, trusted_hosts: Collection[str] = ()) -> None:
        """Start no process; the first picture starts it."""
        self._trusted_hosts = trusted_hosts
        self._threads = ThreadPoolExecutor(_THREADS, "mail-pictures")
        self._queue = StoreFairQueue(_THREADS, _MAX_WAITING)
        self._decoder = SandboxedDecoder()
        self._decoding = threading.Lock()
        self._cached: BoundedCache[_Key, _DrawnMailPicture] = BoundedCache(
            RegisteredCache.MAIL_PICTURES
        )
        self._running: dict[_Key, asyncio.Task[bytes]] = {}
        self._silent_hosts: dict[str, float] = {}  # until when they are not asked

    async def draw_card_as_jpeg(
        self, store_id: StoreId, picture_url: str, card: ProductCard, own_host: str = ""
    ) -> bytes:
        """Return a card as a JPEG; without its picture where that cannot be fetched.

        If the card has a note, it becomes the reason. `own_host` may be fetched from too.

        Raises:
            QueueFullError: when too many pictures wait already.
            UnreadablePictureError: when the drawing process fails.
        """
        key = store_id, picture_url, card, own_host
        cached = self._cached.get(key)
        if cached is not None and time.monotonic() < cached.until:
            return cached.jpeg
        running = self._running.get(key)
        if running is None:
            running = asyncio.create_task(self._draw_in_turn_and_cache(key))
            self._running[key] = running
            running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)

    def close(self) -> None:
        """Wait for running pictures, and stop the process."""
        self._threads.shutdown()
        self._decoder.close()

    async def _draw_in_turn_and_cache(self, key: _Key) -> bytes:
        await self._queue.acquire(key[0])
        try:
            loop = asyncio.get_running_loop()
            picture = await loop.run_in_executor(self._threads, self._fetch_and_draw, key)
        finally:
            self._queue.release()
        return self._cached.put(key, picture).jpeg

    def _fetch_and_draw(self, key: _Key) -> _DrawnMailPicture:
        _, picture_url, card, own_host = key
        data, problem = (
            self._fetch_picture_or_problem(picture_url, own_host)
            if picture_url
            else (b"", "")
        )
        if card.note and problem:
            note = f"No photo could be loaded: {problem}."
            card = msgspec.structs.replace(card, note=note)
        with self._decoding:
            jpeg = self._decoder.draw_card(card, data)
        seconds = _FRESH_SECONDS if data or not picture_url else _RETRY_SECONDS
        return _DrawnMailPicture(jpeg, time.monotonic() + seconds)

    def _fetch_picture_or_problem(
        self, picture_url: str, own_host: str
    ) -> tuple[bytes, str]:
        """Return the bytes of a picture; without them, why there are none."""
        host, now = _host_of(picture_url), time.monotonic()
        if self._silent_hosts.get(host, now) > now:
            return b"", f"{host} did not answer a minute ago"
        try:
            trusted = {*self._trusted_hosts, own_host} if own_host else self._trusted_hosts
            fetched = fetch_picture(
                picture_url, trusted_hosts=trusted, seconds=_FETCH_SECONDS
            )
        except PictureUnavailableError as error:
            if error.is_transient:
                if len(self._silent_hosts) >= _MAX_HOSTS:
                    self._silent_hosts = {}
                self._silent_hosts[host] = time.monotonic() + _RETRY_SECONDS
            return b"", str(error)
        return fetched.content or b"", ""


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
