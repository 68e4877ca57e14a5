"""Pictures of the guides: each has its declared size and a text."""

from __future__ import annotations

import io
import re

import pytest
from PIL import Image

from productrecs.features.guides.guide_texts import guide_source
from productrecs.features.guides.markdown_html import render_markdown
from productrecs.features.guides.screenshots import PICTURES, read_picture
from productrecs.features.guides.table_of_contents import GUIDES

SHOWN = re.compile(r"!\[([^\]]*)\]\(\{base_url\}/docs/([^)]+)\)")
USES = [found for guide in GUIDES for found in SHOWN.findall(guide_source(guide))]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_its_declared_size_and_is_small(name: str) -> None:
    data = read_picture(name)

    assert Image.open(io.BytesIO(data)).size == PICTURES[name]
    assert len(data) < 50_000


def test_every_picture_is_shown_and_described() -> None:
    assert {name for _, name in USES} == PICTURES.keys()
    assert all(len(words) > 20 for words, _ in USES)


def test_a_picture_reserves_its_place_and_comes_from_this_service() -> None:
    html = render_markdown("![A look]({base_url}/docs/look.webp)").html

    assert 'src="/docs/look.webp"' in html
    assert 'width="868" height="674"' in html
