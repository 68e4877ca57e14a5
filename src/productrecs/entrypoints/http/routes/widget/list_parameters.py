"""Query parameters of recommendation lists: how many products, and which ones never."""

from typing import Annotated, Final

from fastapi import Query

MAX_NUM: Final = 20

Num = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description="How many products; default: the store's setting.",
        examples=[4],
    ),
]
Excluded = Annotated[
    str | None,
    Query(
        alias="exclude",
        description=(
            "Ids that the page already shows, comma-separated, up to 100: they "
            "are left out."
        ),
        examples=["stove,lamp"],
    ),
]


Shown = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description=(
            "How many of `num` the page will show, if it requests more in order "
            "to drop products of its other lists; default: `num`."
        ),
        examples=[8],
    ),
]
