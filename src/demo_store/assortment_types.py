"""Demo products, shelves and departments, and the text format of a shelf's products."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """One product of a shelf; `colour` is a colour name of pictures and preferences."""

    id: str
    title: str
    brand: str
    colour: str
    price: float
    sentence: str
    shelf: str


@dataclass(frozen=True)
class Shelf:
    """A leaf category: its season, its search words, and its products.

    `rows` holds two lines a product: `title | brand | colour | price`, then, indented, a
    sentence about it.
    """

    id: str
    name: str
    season: str
    words: tuple[str, ...]
    rows: str

    @cached_property
    def products(self) -> tuple[DemoProduct, ...]:
        """The products in the order of `rows`."""
        lines = self.rows.strip().splitlines()
        return tuple(
            self._product(head, sentence.strip())
            for head, sentence in zip(lines[::2], lines[1::2], strict=True)
        )

    def _product(self, head: str, sentence: str) -> DemoProduct:
        title, brand, colour, price = (field.strip() for field in head.split("|"))
        return DemoProduct(
            slug(title), title, brand, colour, float(price), sentence, self.id
        )


@dataclass(frozen=True, slots=True)
class Department:
    """A top category with its shelves."""

    id: str
    name: str
    shelves: tuple[Shelf, ...]

    def category_names(self, shelf: Shelf) -> list[str]:
        """Return the category path of a shelf, the department first."""
        return [self.name, f"{self.name} > {shelf.name}"]

    def category_ids(self, shelf: Shelf) -> list[str]:
        """Return the ids of `category_names`, in the same order."""
        return [self.id, f"{self.id}/{shelf.id}"]


def slug(title: str) -> str:
    """Return the title in lower case letters and digits, one hyphen between words."""
    ascii_title = unicodedata.normalize("NFKD", title.replace("'", ""))
    letters = ascii_title.encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
