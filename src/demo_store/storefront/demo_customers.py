"""Demo customers: accounts with a year of history that a visitor can sign in as."""

from dataclasses import dataclass
from functools import cache
from typing import Final

from demo_store.departments import ALL_PRODUCTS
from demo_store.generator import SEED
from demo_store.random_choice import seeded_random
from demo_store.shoppers import create_shoppers
from demo_store.shopping_patterns import PERSONAS


@dataclass(frozen=True, slots=True)
class DemoCustomer:
    """A customer of the demo with a display name and tastes."""

    customer_id: str
    name: str
    interests: str


# Name, tastes in a few words, and the shelf that identifies this kind of shopper.
_CUSTOMERS: Final = (
    ("Anna", "cooks and bakes", "pans"),
    ("Ben", "camps and walks", "sleeping"),
    ("Clara", "gardens", "seeds"),
    ("David", "makes a home", "textiles"),
    ("Edith", "writes by hand", "pens"),
    ("Finn", "lives on coffee", "coffee-gear"),
)


@cache
def demo_customers() -> tuple[DemoCustomer, ...]:
    """Return the customers to choose from: the most active one of each kind."""
    colours = sorted({product.colour for product in ALL_PRODUCTS})
    shoppers = create_shoppers(colours, seeded_random(SEED, "crowd"))
    kinds = {shelves[0]: shelves for _, shelves in PERSONAS}
    return tuple(
        DemoCustomer(
            shoppers.most_active_customer(kinds[first]).customer or "", name, interests
        )
        for name, interests, first in _CUSTOMERS
    )


def find_demo_customer(customer_id: str) -> DemoCustomer | None:
    """Return the demo customer with this id."""
    return next(
        (known for known in demo_customers() if known.customer_id == customer_id), None
    )
