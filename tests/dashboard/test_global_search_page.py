"""The search box at the top of every page, without a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.dashboard import Member, text_of
from tests.support.filled_store import fill, open_store

if TYPE_CHECKING:
    from tests.dashboard.conftest import Office


@pytest.fixture(scope="module")
def member(office: Office) -> Member:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "find.example")
    filled = fill(made, ["Oak lamp", "Oak chair", "Oak table"])
    return office.member(filled.store)


@pytest.mark.parametrize(
    ("typed", "shown", "unseen"),
    [
        ("oak chair", ["Rules", "Oak chair"], "Customer"),
        ("Oak lamp", ["Products", "Rules", "Customer"], "Nothing matches"),
        ("customers", ["Pages", "Customers"], "Products"),
        ("CUSTOM", ["Pages", "Customers"], "Nothing matches"),
        ("no such thing", ["Nothing matches “no such thing”"], "Pages"),
        ("<b>", ["Nothing matches “<b>”"], "Pages"),
        ("", ["Type the name of a page"], "Nothing matches"),
    ],
)
def test_names_find_pages_products_and_rules_and_a_whole_id_a_customer(
    member: Member, typed: str, shown: list[str], unseen: str
) -> None:
    member.headers = {"hx-request": "true"}

    found = text_of(member.get(f"/dashboard/find?q={typed.replace(' ', '+')}"))

    assert [text for text in shown if text not in found] == [], found
    assert unseen not in found
