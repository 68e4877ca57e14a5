"""Card replies: bodies of recommendations and searches, made of encoded cards."""

from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from productrecs.features.recommendations.bundles import BundleOffer
from productrecs.features.recommendations.placement_lists import PlacementRequests
from productrecs.features.recommendations.recommendation_request import EngineName, Pick
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.search.hits_and_variant_collapse import Hit
from productrecs.records.catalog.price_lists import Cards

_encode: Final = msgspec.json.Encoder().encode
_CARD_ENDS: Final = {engine: b',"source":"%b"}' % engine.encode() for engine in EngineName}
_CERTAIN: Final = {
    is_certain: b',"certain":%b' % _encode(is_certain) for is_certain in (True, False)
}


def recommendations_body(
    picks: Sequence[Pick], cards: Cards, certain_items: Container[int] | None = None
) -> bytes:
    """Return the reply of recommendations and trending: cards by item number, in order.

    With `certain_items`, products bought together say whether they are among these items.
    """
    parts = [
        b'%b,"score":%.6g%b%b'
        % (
            card,
            score,
            b""
            if certain_items is None or engine is not EngineName.BUY
            else _CERTAIN[item in certain_items],
            _CARD_ENDS[engine],
        )
        for item, engine, score in picks
        if (card := cards[item]) is not None
    ]
    return b'{"recommendations":[%b]}' % b",".join(parts)


def with_anchor(body: bytes, card: bytes | None) -> bytes:
    """Return the reply of recommendations with the page's product as `anchor`."""
    return body[:-1] + b',"anchor":%b}' % (b"null" if card is None else card + b"}")


def with_sold_out(body: bytes) -> bytes:
    """Return the reply of a list that starts with replacements of a sold-out product."""
    return body[:-1] + b',"sold_out":true}'


def with_placement_and_bundle(
    body: bytes,
    placed: PlacementRequests,
    state: StoreState,
    offer: BundleOffer | None = None,
) -> bytes:
    """Return the reply of a placement's list with its name, title, limits and bundle."""
    content = placed.placement.content
    extra_fields = {
        "name": placed.placement.name,
        "title": placed.title(state) or None,
        "num": content.num or state.settings.rec_num,
        # A page that leaves out what another list shows must not show a part of a set.
        "minimum": max(content.minimum, 0 if offer is None else len(offer.missing)),
    }
    if placed.placement.variant:
        extra_fields |= {
            "test": placed.placement.test,
            "variant": placed.placement.variant,
        }
    body = body[:-1] + b',"placement":%b}' % _encode(extra_fields)
    if offer is None:
        return body
    bundle = offer.bundle.content
    offered = {
        "id": offer.bundle.bundle_id,
        "name": bundle.name or None,
        "item_ids": bundle.items,
        "sum": offer.price.total,
        "discount_percent": bundle.discount_percent,
        "discount_amount": bundle.discount_amount,
        "price": offer.price.price,
    }
    return body[:-1] + b',"bundle":%b}' % _encode(offered)


def search_body(hits: Sequence[Hit], cards: Cards) -> bytes:
    """Return the reply of search: cards by item number, in order."""
    parts = [
        b'%b,"score":%.6g,"source":"search"%b}' % (card, hit.score, _variants_field(hit))
        for hit in hits
        if (card := cards[hit.item]) is not None
    ]
    return b'{"results":[%b]}' % b",".join(parts)


def _variants_field(hit: Hit) -> bytes:
    return b',"variants":%d' % hit.variants if hit.variants > 1 else b""


def with_search_fields(body: bytes, fields: Mapping[str, object]) -> bytes:
    """Return a reply of search with further fields after the results."""
    return body[:-1] + b"," + _encode(fields)[1:] if fields else body


def photo_search_body(
    hits: Sequence[Hit], cards: Cards, regions: bytes | None = None
) -> bytes:
    """Return the reply of a search by photo: cards by item number, in order.

    `regions` is JSON: those of the photo, if they were asked for.
    """
    results = b",".join(photo_search_cards(hits, cards))
    if regions is None:
        return b'{"results":[%b]}' % results
    return b'{"results":[%b],"regions":%b}' % (results, regions)


def photo_search_cards(hits: Sequence[Hit], cards: Cards) -> list[bytes]:
    """Return similar products as cards of a reply."""
    return [
        b'%b,"score":%.6g,"source":"similar"}' % (card, hit.score)
        for hit in hits
        if hit.item < len(cards) and (card := cards[hit.item]) is not None
    ]


def search_page_body(
    results: Sequence[tuple[bytes, Hit, str, Mapping[str, str | None] | None]],
    extra_fields: Mapping[str, object],
) -> bytes:
    """Return the reply of a search with facets or other extras.

    Each result is a card, its hit, its source and its highlights. The extras in
    `extra_fields` follow the results.
    """
    parts = []
    for card, hit, source, highlights in results:
        highlight_field = (
            b"" if highlights is None else b',"highlight":%b' % _encode(highlights)
        )
        fields_after = _variants_field(hit) + highlight_field
        card_fields = (card, hit.score, source.encode(), fields_after)
        parts.append(b'%b,"score":%.6g,"source":"%b"%b}' % card_fields)
    return with_search_fields(b'{"results":[%b]}' % b",".join(parts), extra_fields)


def trending_search_body(picks: Sequence[Pick], cards: Cards) -> bytes:
    """Return the reply of an empty search: trending products in the search format."""
    return b'{"results":' + recommendations_body(picks, cards).partition(b":")[2]
