"""Departments of the demo shop, in the order of its navigation."""

from demo_store.departments import (
    bath,
    clothing,
    garden,
    home,
    kitchen,
    outdoor,
    pantry,
    play,
    stationery,
    table,
)

DEPARTMENTS = tuple(
    module.DEPARTMENT
    for module in (
        kitchen,
        pantry,
        table,
        home,
        bath,
        outdoor,
        garden,
        clothing,
        stationery,
        play,
    )
)
