"""Developer guide index: the order, groups, titles and summaries of the guides."""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Final


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide: `pages/{slug}.md` is its text, which begins with its title."""

    slug: str
    title: str
    summary: str
    group: str


_INDEX_FILE: Final = resources.files(__package__) / "index.json"

GUIDES: Final = tuple(
    Guide(slug, title, summary, group)
    for group, guides in json.loads(_INDEX_FILE.read_text("utf-8")).items()
    for slug, title, summary in guides
)
