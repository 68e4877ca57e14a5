"""Route table: which route a path belongs to, and declarations that contradict."""

import pytest

from productrecs.http.pipeline.route_declaration import NONE, SECRET, Routes, publish_routes
from productrecs.http.route_table import ROUTES, route_of


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/search", "/v1/search"),
        ("/v1/items/a/b c", "/v1/items/{item_id}"),
        ("/v1/items/", None),
        (
            "/ucp/shop.example/v/catalog/search",
            "/ucp/{store_domain}/{version}/catalog/search",
        ),
        ("/ucp/shop.example/.well-known/ucp", "/ucp/{store_domain}/.well-known/ucp"),
        ("/ucp/shop.example/v/catalog/search/x", None),
        ("/ucp//v/catalog/search", None),
        ("/orders/upload/up_1", "/orders/upload/{upload_id}"),
        ("/orders/upload/up_1/x", None),
        ("/orders/upload/", None),
        ("/guides/search", "/guides/{slug}"),
        ("/widget/v1/search-shop.example.js", "/widget/v1/{store_domain}.js"),
        (
            "/look-pictures/shop.example/1.jpg",
            "/look-pictures/{store_domain}/{picture_id}.jpg",
        ),
        ("/look-pictures/1.jpg", None),
        ("/dashboard", "other"),
        ("/dashboard/search/rules", "other"),
        ("/dashboards", None),
        ("/nothing", None),
    ],
)
def test_a_path_belongs_to_the_route_that_declares_it(path: str, route: str | None) -> None:
    found = route_of(path)

    assert (found and found.path) == route


def test_methods_of_one_path_are_merged_in_the_order_of_their_declaration() -> None:
    assert list(ROUTES["/v1/orders"].methods) == ["POST", "GET"]


def test_methods_of_one_path_may_not_contradict_each_other() -> None:
    routes = Routes("test")
    routes.get("/test", SECRET, is_rate_limited=False)(print)
    routes.post("/test", NONE)(print)

    with pytest.raises(ValueError, match="different properties"):
        publish_routes([routes])

    assert "/test" not in ROUTES
