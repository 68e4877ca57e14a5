"""What does a list that names no shopper rest on, and has it changed since?"""

from productrecs.features.recommendations.request import RecommendationRequest
from productrecs.features.recommendations.shop import Shop


def mark_of(shop: Shop, request: RecommendationRequest) -> tuple[int, ...] | None:
    """Return what changes when what is known of the call's items does.

    What engines of these items supply to a list that names no shopper stays as it is so
    long, but for what moves all lists a little. None: there is no telling.
    """
    names = (request.item_id, *request.basket) if request.item_id else request.basket
    marks: list[int] = []
    for name in names:
        number = shop.catalog.number(name)
        mark = None if number is None else shop.models.mark(number)
        if mark is None:
            return None
        marks.append(mark)
    return tuple(marks) or None
