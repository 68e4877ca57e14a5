"""Query parameters of recommendation lists: how many products, and which ones never."""

from typing import Annotated, Final

from fastapi import Query

MAX_NUM: Final = 20

Num = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description="How many products; the store's setting when absent.",
        examples=[4],
    ),
]
Excluded = Annotated[
    str | None,
    Query(
        alias="exclude",
        description="Ids that the page shows already, comma-separated, up to 100: "
        "never in this list.",
        examples=["stove,lamp"],
    ),
]


Shown = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description="How many of `num` the page will show, where it asks for more than "
        "that to leave out what its other lists hold; `num` when absent.",
        examples=[8],
    ),
]
