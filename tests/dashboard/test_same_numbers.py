"""Numbers that stand on several pages of the demo store are the same on each."""

import re
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from demo_store.generator import DOMAIN
from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.dashboard.page_registry import navigation
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.users.dashboard_user import Role
from tests.api.inside import Inside
from tests.support.dashboard import Member, add_user, text_of
from tests.support.demo import demo_folder

__all__ = ["demo_folder"]

_NUMBER = r"[\d.,]+"
_TABLE = "/dashboard/products?q=waxed-jacket"
_PRODUCT = "/dashboard/products/item?id=waxed-jacket"
_DEMAND = "/dashboard/demand/product?id=waxed-jacket"
SAME = (
    (  # a number's wording on one page, and on another
        ("/dashboard", rf"({_NUMBER}) % without results"),
        ("/dashboard/search", rf"Without results ({_NUMBER}) %"),
    ),
    (
        ("/dashboard", rf"({_NUMBER}) after a click, \W*{_NUMBER} only seen"),
        ("/dashboard/impact", rf"Sales after a click \W*({_NUMBER})"),
    ),
    (
        ("/dashboard", rf"after a click, \W*({_NUMBER}) only seen"),
        ("/dashboard/impact", rf"Sales after an impression only \W*({_NUMBER})"),
    ),
    (
        ("/dashboard/products", rf"({_NUMBER}) products in your catalog"),
        ("/dashboard/account", rf"Products ({_NUMBER}), no limit"),
        ("/dashboard/start", rf"({_NUMBER}) received"),
        ("/dashboard/demand", rf"for ({_NUMBER}) products"),
    ),
    (
        (_TABLE, rf"waxed-jacket In stock ({_NUMBER})"),
        (_PRODUCT, rf"Stock In stock ({_NUMBER})"),
        (_DEMAND, rf"In stock ({_NUMBER}) Expected"),
    ),
    (
        (_TABLE, rf"In stock {_NUMBER} \W*{_NUMBER} ({_NUMBER}) days"),
        (_PRODUCT, rf"Days of stock ({_NUMBER}) days"),
        (_DEMAND, rf"Days of cover ({_NUMBER})"),
    ),
    (
        (_TABLE, rf"waxed-jacket In stock .*? always Indexed ({_NUMBER})"),
        (_PRODUCT, rf"Bought together its lists use the best ({_NUMBER}) product"),
    ),
)


@pytest.fixture(scope="module")
def pages(
    demo_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str]]:
    """Return the text and source of every page of the navigation, and of one product."""
    folder = tmp_path_factory.mktemp("numbers")
    shutil.copytree(demo_folder, folder, dirs_exist_ok=True)
    now_ms = system_ms()
    services = replace(build_services(Settings(data=folder)), clock=lambda: now_ms)
    email = add_user(services, find_store(services.database, DOMAIN), Role.EDITOR)
    with Inside(create_application(services, draining=[])) as inside:
        member = Member(inside)
        assert member.log_in(email).status == 303
        paths = [page.path for _, group in navigation() for page in group]
        paths += [_TABLE, _PRODUCT, _DEMAND]
        replies = {path: member.get(path) for path in paths}
    return {
        path: (re.sub(r"\s+", " ", text_of(reply)), reply.body.decode())
        for path, reply in replies.items()
    }


def test_tiles_of_one_name_show_one_number(pages: dict[str, tuple[str, str]]) -> None:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path, (_, body) in pages.items():
        for name, figure in re.findall(
            r'class="tile"><h2>(.*?)</h2><p class="figure">\s*([^<]*?)\s*<', body
        ):
            found[name][path] = figure

    assert {"Searches", "Click rate"} <= {name for name, on in found.items() if len(on) > 1}
    for name, on_pages in found.items():
        assert len(set(on_pages.values())) == 1, (name, on_pages)


@pytest.mark.parametrize("wordings", SAME, ids=lambda wordings: wordings[0][1])
def test_a_number_is_the_same_in_other_words(
    pages: dict[str, tuple[str, str]], wordings: tuple[tuple[str, str], ...]
) -> None:
    texts = {path: pages[path][0] for path, _ in wordings}
    found = _numbers(texts, wordings)

    assert len(set(found.values())) == 1, found
    # Control: another number in one place is noticed.
    path, wording = wordings[-1]
    match = re.search(wording, texts[path])
    assert match is not None
    begin, end = match.span(1)
    texts[path] = f"{texts[path][:begin]}9{texts[path][begin:end]}{texts[path][end:]}"
    assert len(set(_numbers(texts, wordings).values())) == 2


def _numbers(
    texts: dict[str, str], wordings: tuple[tuple[str, str], ...]
) -> dict[str, str]:
    found = {path: re.search(wording, texts[path]) for path, wording in wordings}
    assert all(found.values()), found
    return {path: match[1].rstrip(".,") for path, match in found.items() if match}


def test_home_and_demand_count_the_same_alerts(pages: dict[str, tuple[str, str]]) -> None:
    home, demand = pages["/dashboard"][0], pages["/dashboard/demand"][0]
    tile = re.search(r"(\d+) sold out, (\d+) will sell out before new stock", demand)

    assert tile is not None
    for count, wording in zip(
        tile.groups(), ("are sold out", "will sell out"), strict=True
    ):
        said = rf"(and {int(count) - 1} more|{count} products) {wording}"
        assert re.search(said, home), (count, wording)
