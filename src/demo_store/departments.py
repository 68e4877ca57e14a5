"""Departments of the demo shop, in the order of its navigation, with their products.

They are read from `products.txt`, whose first lines say how it is written.
"""

import re
import unicodedata
from dataclasses import dataclass
from importlib import resources
from typing import Final


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


@dataclass(frozen=True, slots=True)
class Shelf:
    """A leaf category: its season, the words that shoppers search for, its products."""

    id: str
    name: str
    season: str
    words: tuple[str, ...]
    products: tuple[DemoProduct, ...]


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


def _read_departments(text: str) -> tuple[Department, ...]:
    return tuple(_read_department(part) for part in re.split(r"^== ", text, flags=re.M)[1:])


def _read_department(text: str) -> Department:
    head, *shelves = re.split(r"^-- ", text, flags=re.M)
    department_id, name = _fields(head)
    return Department(department_id, name, tuple(map(_read_shelf, shelves)))


def _read_shelf(text: str) -> Shelf:
    head, *lines = text.strip().splitlines()
    shelf_id, name, season, words = _fields(head)
    products = tuple(
        _read_product(line, sentence, shelf_id)
        for line, sentence in zip(lines[::2], lines[1::2], strict=True)
    )
    return Shelf(shelf_id, name, season, tuple(words.split(", ")), products)


def _read_product(line: str, sentence: str, shelf: str) -> DemoProduct:
    title, brand, colour, price = _fields(line)
    return DemoProduct(
        slug(title), title, brand, colour, float(price), sentence.strip(), shelf
    )


def _fields(line: str) -> list[str]:
    return [field.strip() for field in line.split("|")]


DEPARTMENTS: Final = _read_departments(
    (resources.files(__package__) / "products.txt").read_text("utf-8")
)
ALL_PRODUCTS: Final = tuple(
    product
    for department in DEPARTMENTS
    for shelf in department.shelves
    for product in shelf.products
)
