"""Pinned scripts: GET /widget/v1/_/... serves widget scripts at immutable addresses.

A page that sets `integrity` on a script cannot use an address whose content changes. These
scripts contain no store: the tag names the key. The address holds a digest of the content,
and each build that this installation ever offered stays in its data folder, so that pages
which pin it work after an upgrade.
"""

import base64
import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi import Path as InPath

from productrecs import __version__
from productrecs.core.cache_registry import Cache, memoized
from productrecs.entrypoints.http.openapi.responses import error_responses
from productrecs.entrypoints.http.pipeline.authentication import BUILD_PATH
from productrecs.entrypoints.http.pipeline.urls import UnknownBuildError
from productrecs.entrypoints.http.routes.public.page_response import (
    IMMUTABLE,
    accepts_gzip,
    gzip_body,
    text_response,
)
from productrecs.entrypoints.http.routes.public.widget_scripts import (
    CACHED,
    HEADERS,
    ROUTE_NAMES,
    SCRIPT,
    load_script,
    send_script,
)

if TYPE_CHECKING:
    from productrecs.entrypoints.http.pipeline.route_context import RequestContext

router = APIRouter(tags=["public"])

KINDS: Final = ("recs", "search", "look", "all")
"""What can be pinned; `all` is the three in one."""

TOOLS: Final = "tools"
"""The script for pages with `?pr_debug=1` or `?pr_preview=1`; it is not pinned."""

_log: Final = logging.getLogger(__name__)
_DIGITS: Final = 20
_TOOLS_VARIABLES: Final = msgspec.json.encode({"version": __version__})
_WIDGET_VARIABLES: Final = msgspec.json.encode({"key": "", "answers": ROUTE_NAMES})


@dataclass(frozen=True)
class Build:
    """A script as pages may pin it."""

    kind: str
    body: bytes

    @cached_property
    def name(self) -> str:
        """What its address ends in, without `.js`."""
        return f"{self.kind}.{hashlib.sha256(self.body).hexdigest()[:_DIGITS]}"

    @property
    def integrity(self) -> str:
        """The Subresource Integrity hash of a script tag."""
        digest = hashlib.sha384(self.body).digest()
        return f"sha384-{base64.b64encode(digest).decode()}"

    def tag(self, base_url: str, key: str) -> str:
        """Return the tag that a page embeds."""
        source = base_url + BUILD_PATH.format(build=self.name)
        return (
            f'<script async src="{source}"\n  integrity="{self.integrity}"\n'
            f'  crossorigin="anonymous" data-key="{key}"></script>'
        )


@memoized(Cache.CONSTANTS)
def current_builds() -> dict[str, Build]:
    """Return the builds of this release by their kind."""
    return {kind: Build(kind, load_script(kind).plain(_WIDGET_VARIABLES)) for kind in KINDS}


def tags(base_url: str, key: str) -> Iterator[str]:
    """Return what pages embed of this release, one tag a kind."""
    for build in current_builds().values():
        yield build.tag(base_url, key)


def archive_builds(folder: Path) -> None:
    """Store the builds of this release, for pages that use them after the next upgrade.

    A disk that takes no writes is not an error: the builds are then served as long as
    this release runs.
    """
    try:
        folder.mkdir(exist_ok=True)
        for build in current_builds().values():
            file = folder / f"{build.name}.js"
            if not file.exists():
                draft = folder / f"{build.name}.{os.getpid()}"
                draft.write_bytes(build.body)
                draft.replace(file)
    except OSError:
        _log.exception("widget build write failed")


def archived_build(folder: Path, name: str) -> bytes | None:
    """Return a stored build; None if it is missing or was changed."""
    kind, _, digest = name.partition(".")
    if kind not in KINDS or len(digest) != _DIGITS or not digest.isalnum():
        return None
    try:
        body = (folder / f"{name}.js").read_bytes()
    except OSError:
        return None
    return body if Build(kind, body).name == name else None


@router.get(
    BUILD_PATH,
    operation_id="pinned_script",
    summary="Return a build of the widgets",
    responses=text_response(SCRIPT, "The script.", "(()=>{...})()")
    | error_responses("build_unknown"),
    response_class=Response,
)
async def pinned_script(
    request: Request,
    build: Annotated[
        str,
        InPath(
            description="The script and its digest; the guide lists them.",
            examples=[TOOLS],
        ),
    ],
) -> Response:
    """Return a script at an address that never changes, for tags with `integrity`.

    Pages of any origin may use it, and caches may store it forever. Builds of earlier
    releases stay. `tools` is for pages with `?pr_debug=1` or `?pr_preview=1`.
    """
    if build == TOOLS:
        return send_script(request, load_script(TOOLS), _TOOLS_VARIABLES, CACHED)
    kind = build.partition(".")[0]
    if kind in KINDS and current_builds()[kind].name == build:
        return send_script(request, load_script(kind), _WIDGET_VARIABLES, IMMUTABLE)
    exchange: RequestContext = request.scope["productrecs"]
    body = archived_build(exchange.context.services.builds, build)
    if body is None:
        message = "no such build; the guide for widgets lists the tags of this release"
        raise UnknownBuildError(message)
    headers = {**HEADERS, "cache-control": IMMUTABLE}
    if accepts_gzip(request):
        headers["content-encoding"] = "gzip"
        body = gzip_body(body)
    return Response(body, media_type=SCRIPT, headers=headers)
