"""Product pictures: the addresses that a page may show, and the hosts that its CSP allows.

Pictures stay where the shop has them. The catalog, which only the secret key changes, names
their hosts; a page allows those, and shows no picture from elsewhere.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

from productrecs.entrypoints.http.schemas.product_cards import safe_url
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.pictures.safe_url import absolute_url

_SAMPLE: Final = 400  # products that tell the hosts: a catalog has few
_MOST_HOSTS: Final = 12
_LOCAL: Final = ".localhost"  # shops that this machine serves, as the demo store
_ORIGIN: Final = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")


class _Pictured(msgspec.Struct):
    image_url: str | None = None


_read: Final = msgspec.json.Decoder(_Pictured).decode


@dataclass(frozen=True, slots=True)
class ProductPictures:
    """A store's domain and the origins of its pictures, the most frequent first."""

    domain: str
    origins: tuple[str, ...]

    @classmethod
    def of(cls, catalog: CatalogView, domain: str) -> Self:
        """Return the hosts that a sample of the catalog names, newest and oldest alike."""
        found: Counter[str] = Counter()
        for url in _sample(catalog):
            origin = _origin(_absolute(url, domain))
            if origin:
                found[origin] += 1
        return cls(domain, tuple(one for one, _ in found.most_common(_MOST_HOSTS)))

    def address(self, image_url: str | None) -> str:
        """Return where a page finds a picture; "" where there is none that it may show."""
        url = _absolute(safe_url(image_url) or "", self.domain)
        if not url or (url.startswith("/") and not url.startswith("//")):
            return url
        return url if _origin(url) in self.origins else ""


def _sample(catalog: CatalogView) -> Iterator[str]:
    cards = catalog.cards
    step = max(1, len(cards) // _SAMPLE)
    for card in cards[::step]:
        if card is not None:
            url = _read(card + b"}").image_url
            if url:
                yield url


def _absolute(url: str, domain: str) -> str:
    if domain.endswith(_LOCAL) and url.startswith("/") and not url.startswith("//"):
        return url
    return absolute_url(url, domain) if url else ""


def _origin(url: str) -> str:
    """Return an address's origin as a policy writes it; "" where it has none."""
    try:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}".lower()
    except ValueError:
        return ""
    return origin if _ORIGIN.fullmatch(origin) else ""
