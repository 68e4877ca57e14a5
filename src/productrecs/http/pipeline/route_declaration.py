"""Route declaration: path, credential, properties and documentation stand at the handler.

A module of routes has one `Routes`, whose decorators take what admission needs to know of a
route beside what FastAPI needs. `http/route_table.py` lists the modules and publishes their
routes; a route that is not in it does not exist.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from fastapi import APIRouter, Response

Handler = TypeVar("Handler", bound=Callable[..., Any])


class CredentialKind(StrEnum):
    """The kind of key that a route needs, or that a caller has."""

    NONE = "none"
    PUBLISHABLE = "publishable"
    EITHER = "either"
    SECRET = "secret"  # noqa: S105 - a kind of key, no key
    OPERATOR = "operator"  # the installation's own token


# An enumeration looks up a member in 0.15 us, a module a name in 0.02.
NONE: Final = CredentialKind.NONE
PUBLISHABLE: Final = CredentialKind.PUBLISHABLE
EITHER: Final = CredentialKind.EITHER
SECRET: Final = CredentialKind.SECRET
OPERATOR: Final = CredentialKind.OPERATOR


class FastReply(NamedTuple):
    """A reply with status 200; a browser may cache it for `cache_seconds`, if any."""

    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    cache_seconds: int = 0


FastHandler = Callable[..., Awaitable[FastReply | None]]
"""Answers a `FastRouteCall` of an admitted caller; None leaves it to the handler."""


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the service: the credential of each method, and its properties."""

    path: str  # as published; metrics count its requests under it
    methods: Mapping[str, CredentialKind]
    widget: bool = False  # called by shops' pages: it answers OPTIONS
    empty: bytes = b""  # metered routes: the empty reply when the plan is used up or over
    metered_parameter: str = ""  # if any, only calls with this parameter are metered
    sends_timing: bool = False  # replies have a Server-Timing header
    is_rate_limited: bool = True  # subject to rate limits
    needs_plan: bool = True  # a change of a store is refused when its plan is over
    fast_handler: FastHandler | None = None  # the same reply, without FastAPI
    takes_text: bool = False  # the end of its path is one value, slashes included


class Routes:
    """The routes of one module."""

    def __init__(self, tag: str) -> None:
        """Declare routes of the section `tag` of the API's description."""
        self.router = APIRouter(tags=[tag])
        self.declared: list[Route] = []

    def get(
        self, path: str, credential: CredentialKind, **rest: Any
    ) -> Callable[[Handler], Handler]:
        """Declare what GET of a path does; `rest` goes to `Route` and to FastAPI.

        Unless `rest` says otherwise, the operation id is the handler's name, and a reply is
        a `Response` that the handler builds.
        """
        return self._declare("GET", path, credential, rest)

    def post(
        self, path: str, credential: CredentialKind, **rest: Any
    ) -> Callable[[Handler], Handler]:
        """Declare what POST to a path does, as `get`."""
        return self._declare("POST", path, credential, rest)

    def put(
        self, path: str, credential: CredentialKind, **rest: Any
    ) -> Callable[[Handler], Handler]:
        """Declare what PUT to a path does, as `get`."""
        return self._declare("PUT", path, credential, rest)

    def delete(
        self, path: str, credential: CredentialKind, **rest: Any
    ) -> Callable[[Handler], Handler]:
        """Declare what DELETE of a path does, as `get`."""
        return self._declare("DELETE", path, credential, rest)

    def _declare(
        self, method: str, path: str, credential: CredentialKind, rest: dict[str, Any]
    ) -> Callable[[Handler], Handler]:
        own = {name: rest.pop(name) for name in _PROPERTIES if name in rest}
        published = _CONVERTER.sub("}", path)
        takes_text = path.endswith(":text}")
        route = Route(published, {method: credential}, takes_text=takes_text, **own)
        self.declared.append(route)

        def add_to_router(handler: Handler) -> Handler:
            options = {"response_class": Response, "operation_id": handler.__name__, **rest}
            return self.router.api_route(path, methods=[method], **options)(handler)

        return add_to_router


OTHER: Final = "other"
"""What metrics count a route, method or status under that is not in their tables."""

_PROPERTIES: Final = (
    "widget",
    "empty",
    "metered_parameter",
    "sends_timing",
    "is_rate_limited",
    "needs_plan",
    "fast_handler",
)
_CONVERTER: Final = re.compile(r":\w+}")  # of a path's parameter
_routes_by_path: Final[dict[str, Route]] = {}


def routes_by_path() -> Mapping[str, Route]:
    """Return every route of the service, by its path."""
    return _routes_by_path


def publish_routes(modules: Iterable[Routes]) -> Mapping[str, Route]:
    """Publish the routes of all modules, in this order, and return them by their path.

    Raises:
        ValueError: when two methods of one path declare different properties.
    """
    merged = dict(_routes_by_path)
    for declared in (
        declared_route for module in modules for declared_route in module.declared
    ):
        merged_route = merged.get(declared.path, declared)
        methods = {**merged_route.methods, **declared.methods}
        if replace(merged_route, methods=methods) != replace(declared, methods=methods):
            message = f"the methods of {declared.path} declare different properties"
            raise ValueError(message)
        merged[declared.path] = replace(merged_route, methods=methods)
    _routes_by_path.update(merged)
    return _routes_by_path


# Paths that other modules link to.
LOOK_PICTURE_PATH: Final = "/look-pictures/{store_domain}/{picture_id}.jpg"
SCRIPT_PATH: Final = "/widget/v1/{store_domain}.js"
SEARCH_SCRIPT_PATH: Final = "/widget/v1/search-{store_domain}.js"
LOOK_SCRIPT_PATH: Final = "/widget/v1/look-{store_domain}.js"
BUILD_PATH: Final = "/widget/v1/_/{build}.js"
PLUGIN_PATH: Final = "/plugin/service-recommender.zip"
OPENCART_PATH: Final = "/plugin/productrecs.ocmod.zip"
PRESTASHOP_PATH: Final = "/plugin/productrecs-prestashop.zip"
DASHBOARD_PATH: Final = "/dashboard"
SIGN_IN_PATH: Final = "/dashboard/sign-in"
DASHBOARD: Final = Route(OTHER, {"GET": NONE, "POST": NONE})
"""Every page of the dashboard, which authenticates by session."""
