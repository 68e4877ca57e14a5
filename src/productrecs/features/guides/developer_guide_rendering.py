"""Developer guide rendering: Markdown filled in, with embed snippets and pictures."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.features.guides.developer_guide_index import GUIDES, Guide

BASE: Final = "{base_url}"  # the placeholder for the service's address
_BY_SLUG: Final[Mapping[str, Guide]] = MappingProxyType(
    {guide.slug: guide for guide in GUIDES}
)
_FACT: Final = re.compile(r"^<!-- facts: ([a-z-]+) -->$", re.MULTILINE)
_MARK: Final = re.compile(r"^<!-- /?[a-z]+ -->\n", re.MULTILINE)  # markers for the tests
Facts = Mapping[str, Callable[[], str]]


class UnknownGuideError(ProductRecsError):
    """There is no guide of this name; the message lists similar names."""


class GuideTexts:
    """All guides, with `facts`: markdown by the placeholder name that pages use."""

    def __init__(self, facts: Facts) -> None:
        """Read nothing yet: a page is read on first use."""
        self._facts = facts
        self._texts: dict[str, str] = {}

    def find_guide(self, slug: str) -> Guide:
        """Return a guide's entry in the table of contents.

        Raises:
            UnknownGuideError: when there is no guide of this name.
        """
        guide = _BY_SLUG.get(slug)
        if guide is None:
            suggestions = ", ".join(similar.slug for similar in similar_or_all_guides(slug))
            message = f"there is no guide of this name; try {suggestions}"
            raise UnknownGuideError(message)
        return guide

    def markdown_with_facts(self, slug: str) -> str:
        """Return a guide's markdown with its facts; `{base_url}` is left as a placeholder.

        Raises:
            UnknownGuideError: when there is no guide of this name.
        """
        guide = self.find_guide(slug)
        if slug not in self._texts:
            with_facts = _FACT.sub(self._fact, guide_source(guide))
            self._texts[slug] = _MARK.sub("", with_facts)
        return self._texts[slug]

    def markdown_with_source_line(self, slug: str, base_url: str) -> str:
        """Return a guide as it is served, with its own address below the title.

        Raises:
            UnknownGuideError: when there is no guide of this name.
        """
        title, _, rest = self.markdown_with_facts(slug).partition("\n")
        source_line = f"Source: {BASE}/docs-md/{slug}.md · all guides: {BASE}/llms.txt"
        return f"{title}\n\n{source_line}\n{rest}".replace(BASE, base_url)

    def render_llms_full_txt(self, base_url: str) -> str:
        """Return /llms-full.txt: every guide as it is served, in the order of the index."""
        guides = (self.markdown_with_source_line(guide.slug, base_url) for guide in GUIDES)
        return "\n\n".join(text.rstrip("\n") for text in guides) + "\n"

    def _fact(self, match: re.Match[str]) -> str:
        return self._facts[match.group(1)]().strip()


def engines_missing_in_guides(engines: Iterable[tuple[str, str]]) -> list[str]:
    """Return the engines whose guide, given by its slug, does not name them."""
    return [
        name
        for name, slug in engines
        if slug not in _BY_SLUG or f"`{name}`" not in guide_source(_BY_SLUG[slug])
    ]


def similar_or_all_guides(slug: str) -> list[Guide]:
    """Return the guides with names similar to `slug`; all guides if there are none."""
    suggestions = difflib.get_close_matches(slug[:64].lower(), _BY_SLUG, 3, 0.5) or _BY_SLUG
    return [_BY_SLUG[similar] for similar in suggestions]


def render_llms_txt(base_url: str) -> str:
    """Return /llms.txt: the guides in groups, with absolute addresses (llmstxt.org)."""
    lines = [
        "# ProductRecs",
        "",
        "> Recommendations for online stores, self-hosted: a store sends its catalog, its",
        "> orders and what shoppers do; the service answers what belongs on a page.",
        "",
        f"The service answers at {base_url}. Browsers call it with a publishable key",
        "(pk_...), the merchant's server with a secret key (sk_...). Start with the quick",
        "start; the errors guide has the remedy for every code.",
    ]
    for group in dict.fromkeys(guide.group for guide in GUIDES):
        lines += ["", f"## {group}", ""]
        lines += [
            f"- [{guide.title}]({base_url}/docs-md/{guide.slug}.md): {guide.summary}"
            for guide in GUIDES
            if guide.group == group
        ]
    lines += [
        "",
        "## Optional",
        "",
        f"- [All guides as one text]({base_url}/llms-full.txt): long",
        f"- [OpenAPI]({base_url}/openapi.json): every call, field and refusal",
        f"- [API reference]({base_url}/docs): the same to read and to try in a browser",
        f"- [Guides as pages]({base_url}/guides): the same guides for people",
        "",
    ]
    return "\n".join(lines)


def guide_source(guide: Guide) -> str:
    """Return a guide's source page, before its facts are filled in."""
    page = resources.files(__package__) / "pages" / f"{guide.slug}.md"
    return page.read_text("utf-8")


_HEADING: Final = re.compile(r"^## +(?:\d+\. +)?(?P<name>.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^```$", re.M | re.S)
_LANGUAGES: Final = frozenset({"html", "liquid", "smarty", "twig", "php", "xml"})
_EXAMPLE: Final = "shop.example.com"  # the store's domain in the guides


@dataclass(frozen=True, slots=True)
class EmbedSnippet:
    """Code to copy, and where to paste it."""

    where: str
    code: str


def embed_snippets(slug: str, base_url: str, domain: str) -> list[EmbedSnippet]:
    """Return a guide's snippets with this store's domain and the service's address."""
    source = guide_source(next(guide for guide in GUIDES if guide.slug == slug))
    snippets = []
    for name, section in _sections(source):
        if not name.startswith(("Load the scripts", "Place the list")):
            continue
        end = 0
        for block in _BLOCK.finditer(section):
            paragraph = section[end : block.start()].strip().rpartition("\n\n")[2]
            end = block.end()
            if block["language"] in _LANGUAGES:
                code = block["code"].rstrip().replace(BASE, base_url)
                introduction = re.sub(r"[*`]|\]\([^)]*\)|\[", "", paragraph).rstrip(":")
                snippets.append(EmbedSnippet(introduction, code.replace(_EXAMPLE, domain)))
    return snippets


def _sections(source: str) -> Iterator[tuple[str, str]]:
    heads = list(_HEADING.finditer(source))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        yield head["name"], source[head.end() : following.start() if following else None]


PICTURES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "forecast.webp": (860, 314),
        "look.webp": (868, 674),
        "search.webp": (900, 620),
        "widgets.webp": (868, 273),
    }
)
"""Width and height of each picture in pixels, by file name."""


def read_guide_picture(name: str) -> bytes:
    """Return the file of one of `PICTURES`."""
    return (resources.files(__package__) / "pictures" / name).read_bytes()
