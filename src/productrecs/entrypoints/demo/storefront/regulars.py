"""As whom can a visitor shop? Some of the demo's customers, who have a year behind them."""

from dataclasses import dataclass
from functools import cache
from typing import Final

from productrecs.entrypoints.demo.chance import dice
from productrecs.entrypoints.demo.departments import DEPARTMENTS
from productrecs.entrypoints.demo.habits import PERSONAS
from productrecs.entrypoints.demo.shoppers import gather_the_crowd
from productrecs.entrypoints.demo.store import SEED

COOKIE: Final = "demo_customer"


@dataclass(frozen=True, slots=True)
class Regular:
    """A customer of the demo with a name for this window, and what they like."""

    customer: str
    name: str
    likes: str


# Name, what they like in a few words, and a shelf that only such people like best.
_PEOPLE: Final = (
    ("Anna", "cooks and bakes", "pans"),
    ("Ben", "camps and walks", "tents"),
    ("Clara", "gardens", "seeds"),
    ("David", "makes a home", "textiles"),
    ("Edith", "writes by hand", "pens"),
    ("Finn", "lives on coffee", "coffee-gear"),
)


@cache
def regulars() -> tuple[Regular, ...]:
    """Return the customers to choose from: of each kind, the one who shops most."""
    colours = sorted(
        {
            product.colour
            for department in DEPARTMENTS
            for shelf in department.shelves
            for product in shelf.products
        }
    )
    crowd = gather_the_crowd(colours, dice(SEED, "crowd"))
    kinds = {shelves[0]: shelves for _, shelves in PERSONAS}
    return tuple(
        Regular(crowd.most_active(kinds[first]).customer or "", name, likes)
        for name, likes, first in _PEOPLE
    )


def regular(customer: str) -> Regular | None:
    """Return the one with this customer id."""
    return next((one for one in regulars() if one.customer == customer), None)
