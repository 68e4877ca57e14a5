"""Product picture URLs: those that a page may show, and the hosts that its CSP allows.

Browsers load pictures from the shop's hosts. The catalog, which only the secret key can
change, names these hosts; a page shows no picture from other hosts.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.pictures.fetch_picture import absolute_url
from productrecs.serving.product_cards import safe_url

_SAMPLE: Final = 400  # products sampled for hosts: a catalog has few hosts
_MOST_HOSTS: Final = 12
_LOCAL: Final = ".localhost"  # shops on this machine, such as the demo store
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")


class _StoredPictureUrl(msgspec.Struct):
    image_url: str | None = None


_read: Final = msgspec.json.Decoder(_StoredPictureUrl).decode


@dataclass(frozen=True, slots=True)
class ProductPictureUrls:
    """Which picture URLs a page of this store may show.

    `origins` are those of its pictures, the most frequent first.
    """

    domain: str
    origins: tuple[str, ...]

    @classmethod
    def of(cls, catalog: CatalogView, domain: str) -> Self:
        """Return the hosts in a sample of the catalog's newest and oldest products."""
        count_by_origin: Counter[str] = Counter()
        for url in _sampled_picture_urls(catalog):
            origin = _origin_of(_absolute_picture_url(url, domain))
            if origin:
                count_by_origin[origin] += 1
        return cls(
            domain, tuple(origin for origin, _ in count_by_origin.most_common(_MOST_HOSTS))
        )

    def address_if_allowed(self, image_url: str | None) -> str:
        """Return the URL of a picture; "" if the page may not show it."""
        url = _absolute_picture_url(safe_url(image_url) or "", self.domain)
        if not url or (url.startswith("/") and not url.startswith("//")):
            return url
        return url if _origin_of(url) in self.origins else ""


def _sampled_picture_urls(catalog: CatalogView) -> Iterator[str]:
    cards = catalog.cards
    step = max(1, len(cards) // _SAMPLE)
    for number in range(0, len(cards), step):
        card = cards[number]
        if card is not None:
            url = _read(card + b"}").image_url
            if url:
                yield url


def _absolute_picture_url(url: str, domain: str) -> str:
    if domain.endswith(_LOCAL) and url.startswith("/") and not url.startswith("//"):
        return url
    return absolute_url(url, domain) if url else ""


def _origin_of(url: str) -> str:
    """Return a URL's origin in CSP syntax; "" if it has none."""
    try:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}".lower()
    except ValueError:
        return ""
    return origin if _ORIGIN.fullmatch(origin) else ""
