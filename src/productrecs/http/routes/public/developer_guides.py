"""Developer guides: GET /llms.txt, /llms-full.txt, /docs-md/{slug}.md and /guides/..."""

import asyncio
from html import escape
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Path, Query, Request, Response

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.guides.developer_guide_index import GUIDES, Guide
from productrecs.features.guides.developer_guide_rendering import (
    BASE,
    GuideTexts,
    UnknownGuideError,
    render_llms_txt,
    similar_or_all_guides,
)
from productrecs.features.guides.developer_guide_search import (
    GuideSearch,
    GuideSection,
    best_matching_line,
)
from productrecs.http.openapi_responses import Responses, error_responses
from productrecs.http.pipeline.route_declaration import NONE, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.api_reference import asset_address
from productrecs.http.routes.public.developer_guide_tables import GUIDE_TABLES
from productrecs.http.routes.public.page_response import (
    HTML,
    JSON,
    MARKDOWN,
    SCRIPTED,
    cacheable_response,
    html_page,
    preferred_media_type,
    text_response,
)

if TYPE_CHECKING:
    from productrecs.features.guides.markdown_html import RenderedGuide


routes = Routes("documentation")

PAGE_EXAMPLE: Final = "<!doctype html>..."
INDEX_EXAMPLE: Final = "# ProductRecs\n\n> ..."
GUIDE_EXAMPLE: Final = "# Quick start\n\n..."
Slug = Annotated[
    str,
    Path(
        description="The guide's slug, as in /llms.txt.",
        examples=["quickstart"],
    ),
]
LIBRARY: Final = GuideTexts(GUIDE_TABLES)
_MARKDOWN: Final = "text/markdown; charset=utf-8"
_PLAIN_TEXT: Final = "text/plain; charset=utf-8"
# Shown by the script alone: without it nothing could be filled in.
_YOURS: Final = """<details class="outline" hidden>
<summary>Your key and domain in the samples</summary>
<form class="yours" autocomplete="off">
<label>Publishable key <input name="key" placeholder="pk_..." spellcheck="false"></label>
<label>Store's domain
<input name="shop" placeholder="shop.example.com" spellcheck="false"></label>
<p><button>Use in the samples</button> <button type="reset">Clear</button></p>
<p role="status"></p>
</form></details>
"""
_MAX_FOUND: Final = 12
_LONGEST: Final = 200
_SHOWN: Final = 60


def _html_or_markdown_response(description: str, markdown: str) -> Responses:
    """Return the documented reply of a route that has a page and markdown."""
    response = text_response(HTML, description, PAGE_EXAMPLE)
    response[200]["content"] |= text_response(MARKDOWN, description, markdown)[200][
        "content"
    ]
    return response


@routes.get(
    "/llms.txt",
    NONE,
    summary="List the guides for language models",
    responses=text_response("text/plain", "The index of the guides.", INDEX_EXAMPLE),
)
async def llms_txt(request: Request) -> Response:
    """Return the index of the guides, with absolute addresses (llmstxt.org).

    It has the title, the address and the summary of each guide.
    """
    return cacheable_response(
        request, render_llms_txt(base_url_for_reply(request)), _PLAIN_TEXT
    )


@routes.get(
    "/llms-full.txt",
    NONE,
    summary="Return all guides as one text",
    responses=text_response(
        "text/plain", "The guides, one after the other.", GUIDE_EXAMPLE
    ),
)
async def llms_full_txt(request: Request) -> Response:
    """Return every guide, in the order of `/llms.txt`, for who reads all of them at once.

    An `ETag` spares sending it again.
    """
    base = base_url_for_reply(request)
    # In a thread: it is long, and packing it takes some milliseconds.
    return await asyncio.to_thread(
        lambda: cacheable_response(request, LIBRARY.render_llms_full_txt(base), _PLAIN_TEXT)
    )


@routes.get(
    "/docs-md/{slug}.md",
    NONE,
    summary="Return a guide as markdown",
    responses=text_response("text/markdown", "The guide.", GUIDE_EXAMPLE)
    | error_responses("guide_unknown"),
)
async def guide_markdown(request: Request, slug: Slug) -> Response:
    """Return one guide as raw markdown; its examples name this service's address.

    An `ETag` spares sending it again.
    """
    return _markdown_response(
        request, LIBRARY.markdown_with_source_line(slug, base_url_for_reply(request))
    )


@routes.get(
    "/guides",
    NONE,
    operation_id="guides",
    summary="List the guides for people",
    responses=_html_or_markdown_response("The list of the guides.", INDEX_EXAMPLE),
)
async def guides_page(
    request: Request,
    q: Annotated[
        str,
        Query(
            description=("Words to search for in the guides."), examples=["retry an order"]
        ),
    ] = "",
) -> Response:
    """Return a page that lists the guides; `/llms.txt` is the same for programs.

    Who prefers `text/markdown` (`Accept`) gets that here. With `q` the page lists the
    sections that answer best.
    """
    if preferred_media_type(request, (HTML, MARKDOWN)) == MARKDOWN:
        return _markdown_response(
            request, render_llms_txt(base_url_for_reply(request)), vary="Accept"
        )
    if q.strip():
        html = await asyncio.to_thread(_search_results_html, q)
        return html_page(request, f"{q[:_SHOWN]} in the guides", html, vary="Accept")
    groups = dict.fromkeys(guide.group for guide in GUIDES)
    lists_html = "".join(
        f"<h2>{escape(group)}</h2>\n<ul class='cards'>\n"
        + "".join(_guide_card_html(guide) for guide in GUIDES if guide.group == group)
        + "</ul>\n"
        for group in groups
    )
    introduction = "Short, with examples that run as they stand."
    html = (
        f"<main id='content'><h1>Guides</h1><p class='lead'>{introduction}</p>"
        f"{_search_form_html()}{lists_html}</main>"
    )
    return html_page(request, "Guides", html, vary="Accept", markdown_url="/llms.txt")


@routes.get(
    "/guides/{slug}",
    NONE,
    summary="Return a guide as a page",
    responses=_html_or_markdown_response("The guide.", GUIDE_EXAMPLE)
    | error_responses("guide_unknown"),
)
async def guide_page(request: Request, slug: Slug) -> Response:
    """Return one guide as a page for people, with an outline and links to the others.

    Who prefers `text/markdown` (`Accept`) gets the same as from `/docs-md/{slug}.md`.
    """
    if preferred_media_type(request, (HTML, MARKDOWN)) == MARKDOWN:
        text = LIBRARY.markdown_with_source_line(slug, base_url_for_reply(request))
        return _markdown_response(request, text, vary="Accept")
    try:
        guide = LIBRARY.find_guide(slug)
    except UnknownGuideError:
        if preferred_media_type(request, (JSON, HTML)) != HTML:
            raise
        return _no_such_guide_page(request, slug)
    rendered = await asyncio.to_thread(_render_guide, slug)
    headings_html = "".join(
        f'<li><a href="#{escape(heading.anchor)}">{escape(heading.text)}</a></li>\n'
        for heading in rendered.headings
        if heading.level == 2  # noqa: PLR2004 - h2
    )
    outline_html = _outline_html(headings_html) + (
        _YOURS if "data-yours=" in rendered.html else ""
    )
    body = rendered.html.replace("</h1>", f"</h1>\n{outline_html}", 1)
    html = (
        '<main id="content" class="read">\n<nav class="contents" aria-label="Guides">\n'
        f"{_search_form_html()}{_guide_links_html(guide)}</nav>\n<article>\n"
        f'{body}<p class="more">This page as '
        f'<a href="/docs-md/{guide.slug}.md">markdown</a></p>\n</article>\n</main>\n'
        f'<script src="{asset_address("guides.js")}" defer></script>'
    )
    return html_page(
        request,
        guide.title,
        html.replace(BASE, escape(base_url_for_reply(request))),
        content_security_policy=SCRIPTED,
        vary="Accept",
        markdown_url=f"/docs-md/{guide.slug}.md",
    )


def _markdown_response(request: Request, text: str, vary: str | None = None) -> Response:
    reply = cacheable_response(request, text, _MARKDOWN, vary=vary)
    reply.headers["link"] = '</llms.txt>; rel="index"'
    return reply


def _guide_card_html(guide: Guide) -> str:
    return (
        f'<li><a href="/guides/{guide.slug}"><strong>{escape(guide.title)}</strong>'
        f"<span>{escape(guide.summary)}</span></a></li>\n"
    )


def _guide_links_html(current_guide: Guide) -> str:
    """Return the guides by group, the one that is read marked."""
    current_attribute = {current_guide.slug: ' aria-current="page"'}
    return "".join(
        f"<p>{escape(group)}</p>\n<ul>"
        + "".join(
            f'<li><a href="/guides/{guide.slug}"{current_attribute.get(guide.slug, "")}>'
            f"{escape(guide.title)}</a></li>\n"
            for guide in GUIDES
            if guide.group == group
        )
        + "</ul>\n"
        for group in dict.fromkeys(guide.group for guide in GUIDES)
    )


def _search_form_html(words: str = "") -> str:
    return (
        '<form class="find" role="search" action="/guides">'
        '<input type="search" name="q" aria-label="Search the guides" '
        f'placeholder="Search the guides" value="{escape(words)}">'
        "<button>Search</button></form>\n"
    )


def _search_results_html(words: str) -> str:
    """Return the sections of the guides that match the words, each with a line."""
    words = words[:_LONGEST]
    sections = guide_search().find(words, _MAX_FOUND)
    items_html = "".join(
        f'<li><a href="/guides/{section.guide.slug}#{escape(_anchor(section))}">'
        f"<strong>{escape(section.guide.title)}: {escape(section.heading)}</strong>"
        f"<span>{escape(best_matching_line(section, words).replace(BASE, ''))}</span>"
        "</a></li>\n"
        for section in sections
    )
    results_html = (
        f"<ul class='cards'>{items_html}</ul>" if sections else "<p>Nothing was found.</p>"
    )
    return (
        "<main id='content'><h1>Search the guides</h1>"
        f"{_search_form_html(words)}{results_html}"
        "<p><a href='/guides'>All guides</a></p></main>"
    )


def _anchor(section: GuideSection) -> str:
    from productrecs.features.guides.markdown_html import anchor_of  # noqa: PLC0415

    return anchor_of(section.heading)


def _no_such_guide_page(request: Request, slug: str) -> Response:
    """Return a page for an unknown guide, with similar ones."""
    suggestions = similar_or_all_guides(slug)
    cards = "".join(_guide_card_html(guide) for guide in suggestions)
    html = (
        "<main id='content'><h1>There is no such guide</h1>"
        "<p class='lead'>Search for it, or read one of these.</p>"
        f"{_search_form_html(slug.replace('-', ' ')[:_SHOWN])}"
        f"<ul class='cards'>{cards}</ul>"
        "<p><a href='/guides'>All guides</a></p></main>"
    )
    reply = html_page(request, "No such guide", html, vary="Accept")
    reply.status_code = 404
    return reply


@memoized(RegisteredCache.CONSTANTS)
def guide_search() -> GuideSearch:
    """Return the search in the guides; the first call builds its index."""
    return GuideSearch(LIBRARY)


def _outline_html(entries: str) -> str:
    if not entries:
        return ""
    summary = "<summary>On this page</summary>"
    return f'<details class="outline">{summary}<ul>{entries}</ul></details>\n'


@memoized(RegisteredCache.PACKAGE_FILES)
def _render_guide(slug: str) -> "RenderedGuide":
    # Imported here, in a thread: a process that shows no page needs no markdown.
    from productrecs.features.guides.markdown_html import render_guide_html  # noqa: PLC0415

    return render_guide_html(LIBRARY.markdown_with_facts(slug))
