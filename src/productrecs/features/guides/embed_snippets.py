"""Embed snippets: the code blocks of a platform's guide that place the widgets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from productrecs.features.guides.guide_texts import BASE, guide_source
from productrecs.features.guides.table_of_contents import GUIDES

_HEADING: Final = re.compile(r"^## +(?:\d+\. +)?(?P<name>.+)$", re.MULTILINE)
_BLOCK: Final = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^```$", re.M | re.S)
_LANGUAGES: Final = frozenset({"html", "liquid", "smarty", "twig", "php", "xml"})
_EXAMPLE: Final = "shop.example.com"  # the store's domain in the guides


@dataclass(frozen=True, slots=True)
class EmbedSnippet:
    """Code to copy, and where it goes."""

    where: str
    code: str


def embed_snippets(slug: str, base_url: str, domain: str) -> list[EmbedSnippet]:
    """Return the snippets of a guide, with this store's domain and the real address."""
    source = guide_source(next(one for one in GUIDES if one.slug == slug))
    found = []
    for name, section in _sections(source):
        if not name.startswith(("Load the scripts", "Place the list")):
            continue
        end = 0
        for block in _BLOCK.finditer(section):
            where = section[end : block.start()].strip().rpartition("\n\n")[2]
            end = block.end()
            if block["language"] in _LANGUAGES:
                code = block["code"].rstrip().replace(BASE, base_url)
                plain = re.sub(r"[*`]|\]\([^)]*\)|\[", "", where).rstrip(":")
                found.append(EmbedSnippet(plain, code.replace(_EXAMPLE, domain)))
    return found


def _sections(source: str) -> Iterator[tuple[str, str]]:
    heads = list(_HEADING.finditer(source))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        yield head["name"], source[head.end() : following.start() if following else None]
