"""Variant grouping: joins the rows of each product in bounded memory, in any row order.

A large file is first partitioned by product into many small files, which are then read one
after the other.
"""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

import msgspec

from productrecs.entrypoints.cli.feeds.offer import FeedProduct, Offer, RejectedRow

PARTITION_BYTES: Final = 8 << 20
"""The most bytes of a file whose products are held in memory."""
_MOST_PARTS: Final = 256


def group_by_product(
    offers: Iterable[Offer | RejectedRow], size: int, folder: Path
) -> Iterator[FeedProduct | RejectedRow]:
    """Yield the products that offers make; for a small file in order of appearance.

    Rejected rows are passed on at once. `size` is the file's, in bytes; parts of a
    large one are stored below `folder`.
    """
    parts = min(size // PARTITION_BYTES + 1, _MOST_PARTS)
    if parts == 1:
        yield from _folded(offers)
        return
    with contextlib.ExitStack() as stack:
        files: list[BinaryIO] = [
            stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(parts)
        ]
        for offer in offers:
            if isinstance(offer, RejectedRow):
                yield offer
                continue
            part = crc32(offer.product.encode("utf-8", "surrogatepass")) % parts
            files[part].write(msgspec.json.encode(offer) + b"\n")
        for file in files:
            file.seek(0)
            yield from _folded(msgspec.json.decode(line, type=Offer) for line in file)
            file.close()


def _folded(offers: Iterable[Offer | RejectedRow]) -> Iterator[FeedProduct | RejectedRow]:
    found: dict[str, FeedProduct] = {}
    for offer in offers:
        if isinstance(offer, RejectedRow):
            yield offer
            continue
        product = found.get(offer.product)
        if product is None:
            product = found[offer.product] = FeedProduct(offer.product, offer.row)
        product.add(offer)
    yield from found.values()
