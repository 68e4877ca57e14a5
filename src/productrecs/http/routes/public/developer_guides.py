"""Developer guides: GET /llms.txt, /llms-full.txt, /docs-md/{slug}.md and /guides/...

Some tables of the guides are made from the program's own data.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.guides.developer_guide_index import GUIDES, Guide
from productrecs.features.guides.developer_guide_rendering import (
    BASE,
    Facts,
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
from productrecs.features.search.product_search import LONGEST_QUERY
from productrecs.features.widgets.reserved_height import head_tags
from productrecs.http.openapi_responses import Responses, error_responses
from productrecs.http.pipeline.error_responses import ERROR_CODES, ROUTER_CODES
from productrecs.http.pipeline.route_declaration import (
    NONE,
    CredentialKind,
    Routes,
    routes_by_path,
)
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.api_reference import asset_address
from productrecs.http.routes.public.health import NOT_READY
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
from productrecs.http.routes.public.widget_scripts import pinned_script_tags
from productrecs.http.routes.server import item_changes, orders
from productrecs.http.routes.widget import (
    list_parameters,
    recommendations,
    search,
)
from productrecs.http.transport.error_body import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
)
from productrecs.http.transport.request_body import EVENTS_LIMIT, KIB, MIB
from productrecs.schemas.events import (
    EVENT_LIMIT,
    MAX_EVENT_ID,
    MAX_EVENTS,
    MAX_SHOWN,
    EventBody,
)
from productrecs.schemas.field_readers import MAX_ID
from productrecs.schemas.items import (
    MAX_CATEGORIES,
    MAX_DESCRIPTION,
    MAX_ITEMS,
    MAX_TITLE,
    MAX_URL,
    ItemBody,
)
from productrecs.schemas.orders import MAX_LINES, OrderBody, OrderLineBody
from productrecs.settings import SETTING_DESCRIPTIONS
from productrecs.tenancy.accounts.store_settings import SETTINGS, StoreSettings
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS

if TYPE_CHECKING:
    from productrecs.features.guides.markdown_html import RenderedGuide


_KEYS: Final[Mapping[CredentialKind, str]] = MappingProxyType(
    {
        CredentialKind.NONE: "none",
        CredentialKind.PUBLISHABLE: "publishable",
        CredentialKind.EITHER: "either",
        CredentialKind.SECRET: "secret",
        CredentialKind.OPERATOR: "the operator's token",
    }
)


def status_by_error_code() -> dict[str, int]:
    """Return every code that an error's body may have, with its status, in their order."""
    of_the_server = (BAD_REQUEST, HEADERS_TOO_LARGE, NOT_READY, INTERNAL_ERROR)
    known = [*ERROR_CODES.values(), *ROUTER_CODES.values(), *of_the_server]
    return {code.code: code.status for code in sorted(known, key=lambda code: code.status)}


def _store_settings_table() -> str:
    defaults = StoreSettings()
    rows = [
        (
            f"`{setting.name}`",
            f"`{_format_default(getattr(defaults, setting.name))}`",
            setting.meaning,
        )
        for setting in SETTINGS
    ]
    return _markdown_table(("setting", "default", "meaning"), rows)


def _installation_settings_table() -> str:
    rows = [
        (
            f"`{setting.environment}`",
            f"`{setting.default}`" if setting.default else "",
            setting.meaning,
        )
        for setting in SETTING_DESCRIPTIONS
    ]
    return _markdown_table(("variable", "default", "meaning"), rows)


def _routes_table() -> str:
    rows = [
        (f"`{method} {path}`", _KEYS[credential])
        for path, route in routes_by_path().items()
        for method, credential in route.methods.items()
    ]
    return _markdown_table(("call", "key"), rows)


def _error_codes_table() -> str:
    rows = [
        (str(status), f"[`{code}`](#{code})")
        for code, status in status_by_error_code().items()
    ]
    return _markdown_table(("status", "code"), rows)


def _limits_table() -> str:
    rows = [
        ("items in one push", _format_number(MAX_ITEMS)),
        (
            "an item's title, description, address",
            (
                f"{_format_number(MAX_TITLE)}, {_format_number(MAX_DESCRIPTION)}, "
                f"{_format_number(MAX_URL)} characters"
            ),
        ),
        ("categories of an item", _format_number(MAX_CATEGORIES)),
        ("an id", f"{MAX_ID} characters"),
        ("lines of an order", _format_number(MAX_LINES)),
        ("events in one array", _format_number(MAX_EVENTS)),
        ("products of one impression", _format_number(MAX_SHOWN)),
        ("`event_id`", f"{MAX_EVENT_ID} characters"),
        ("`num` of recommendations and trending", f"1 to {list_parameters.MAX_NUM}"),
        ("`num` of search", f"1 to {search.MAX_NUM}"),
        ("`q` of search, the rest is cut off", f"{LONGEST_QUERY} characters"),
        ("`item_ids` of recommendations", _format_number(recommendations.MAX_ANCHORS)),
        (
            "`exclude` of recommendations and trending",
            _format_number(list_parameters.MAX_EXCLUDED),
        ),
        ("body of a push of items", f"{item_changes.BODY_LIMIT // MIB} MiB"),
        ("body of an order", f"{orders.BODY_LIMIT // MIB} MiB"),
        (
            "body of one event, of an array",
            f"{EVENT_LIMIT // KIB} KiB, {EVENTS_LIMIT // MIB} MiB",
        ),
    ]
    return _markdown_table(("what", "at most"), rows)


def _plans_table() -> str:
    rows = [
        (
            f"`{plan.name}`",
            _format_limit(plan.monthly_calls),
            _format_limit(plan.catalog_items),
            "until it is changed" if plan.days is None else f"{plan.days} days",
        )
        for plan in DEFAULT_PLANS.values()
    ]
    return _markdown_table(("plan", "calls a month", "items", "lasts"), rows)


def _metered_routes_table() -> str:
    rows = [
        (f"`{method} {path}`", f"`{route.empty.decode()}`")
        for path, route in routes_by_path().items()
        if route.empty
        for method in route.methods
    ]
    return _markdown_table(("call that counts", "its reply without content"), rows)


def _format_limit(limit: int | None) -> str:
    return "unlimited" if limit is None else _format_number(limit)


def _model_fields_table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    rows = []
    for name, field in schema["properties"].items():
        words = field.get("description", "")
        shown = f"`{name}`, required" if name in required else f"`{name}`"
        rows.append((shown, _describe_type(field, schema.get("$defs", {})), words))
    return _markdown_table(("field", "type", "meaning"), rows)


def _describe_type(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return _describe_type(definitions[field["$ref"].rpartition("/")[2]], definitions)
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if "anyOf" in field:
        kinds = [_describe_type(alternative, definitions) for alternative in field["anyOf"]]
        return " or ".join(dict.fromkeys(filter(None, kinds)))
    if field.get("type") == "array":
        return f"list of {_describe_type(field.get('items', {}), definitions)}"
    kind = field.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(kind for kind in kinds if kind != "null")


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _format_number(number: int) -> str:
    return f"{number:,}"


def _format_default(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:.12g}"
        if isinstance(value, float)
        else str(value)
    )


GUIDE_TABLES: Final[Facts] = MappingProxyType(
    {
        "settings": _store_settings_table,
        "installation-settings": _installation_settings_table,
        "routes": _routes_table,
        "codes": _error_codes_table,
        "limits": _limits_table,
        "metered": _metered_routes_table,
        "plans": _plans_table,
        "item-fields": lambda: _model_fields_table(ItemBody),
        "event-fields": lambda: _model_fields_table(EventBody),
        "order-fields": lambda: _model_fields_table(OrderBody),
        "builds": lambda: "\n".join(
            ("```html", *pinned_script_tags(BASE, "pk_..."), "```")
        ),
        "reserve": lambda: "\n".join(("```html", head_tags(StoreSettings(), {}), "```")),
        "line-fields": lambda: _model_fields_table(OrderLineBody),
    }
)


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
