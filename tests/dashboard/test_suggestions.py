"""Suggestions: what a field offers while somebody types, and what it says of its values."""

import html
import re

import pytest

from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.filled_store import open_store

SUGGEST = "/dashboard/suggest"
ITEMS = (
    {"id": "t1", "title": "Ridge tent", "categories": ["Tents"], "brand": "Acme"},
    {
        "id": "t2",
        "title": "Dome tent",
        "categories": ["Tents", "Big tents"],
        "brand": "Acme",
    },
    {
        "id": "m1",
        "title": "Mug <blue>",
        "categories": ["Mugs"],
        "brand": "Zeta",
        "color": "Blue",
    },
)


@pytest.fixture(scope="module")
def member(office: Office) -> Member:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "suggest.example")
    assert made.merchant.push(*({"price": 10, **one} for one in ITEMS)).status == 200
    return office.member(made.store)


def values(body: bytes) -> list[str]:
    return [
        html.unescape(one) for one in re.findall(r'data-value="([^"]*)"', body.decode())
    ]


@pytest.mark.parametrize(
    ("kind", "typed", "first"),
    [
        ("product", "t2", ["t2"]),
        ("product", "", []),
        ("category", "tent", ["Tents", "Big tents"]),
        ("category", "", ["Tents", "Big tents", "Mugs"]),
        ("attribute", "acme", ["brand: Acme"]),
        ("attribute", "brand", ["brand: Acme", "brand: Zeta"]),
        ("filter", "acme", ["brand:Acme"]),
        ("filter", "mug", ["categories:Mugs"]),
        ("filter", "blue", ["color:Blue"]),
        ("filter", "sale", ["on_sale:true", "on_sale:false"]),
        ("filter", "19,90", ["price:..19.90", "price:19.90.."]),
        ("filter", "nothing of this", []),
    ],
)
def test_typed_text_finds_what_the_catalog_has(
    member: Member, kind: str, typed: str, first: list[str]
) -> None:
    reply = member.get(f"{SUGGEST}?kind={kind}&q={typed.replace(' ', '+')}")

    assert values(reply.body)[: len(first) or None] == first


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("product", "m1", "Mug <blue>"),
        ("category", "tents", "2 products"),
        ("attribute", "brand: acme", "Brand: acme 2 products"),
        ("filter", "brand:Acme", "Brand: Acme 2 products"),
        ("filter", "price:10..<20", "Price from 10 below 20"),
        ("filter", "in_stock:true", "In stock"),
        ("product", "gone", "gone Not in your catalog"),
        ("category", "Boats", "Boats Not in your catalog"),
        ("filter", "brand:Nobody", "Brand: Nobody Not in your catalog"),
        ("filter", "colour", "Not a filter"),
    ],
)
def test_a_value_is_named_and_one_that_matches_nothing_says_so(
    member: Member, kind: str, value: str, said: str
) -> None:
    reply = member.get(
        f"{SUGGEST}?kind={kind}&of={value.replace(' ', '+').replace('<', '%3C')}"
    )

    assert said in " ".join(text_of(reply).split())
    assert (b"data-unknown" in reply.body) is ("Not " in said)
