"""How do arrays say which field a word stands in, and what do loops note of a product?"""

from typing import Final

FIELDS: Final = 5
TITLE_AT, CATEGORIES_AT, DESCRIPTION_AT, CODES_AT, HEAD_AT = range(FIELDS)

NORMS: Final = 256
"""Lengths of a field are rounded to so many."""

COLUMNS: Final = 16
"""Of the scratch rows of products, 64 bytes each."""

LISTS: Final = 3
IN_LIST, FOUND, NEXT = range(LISTS)
"""The lists of products: of a reading, of the search, and of what comes next."""
