"""Numbers that stand on several pages of the demo store are the same on each."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from demo_store.generator import DOMAIN
from productrecs.core.clock import system_ms
from productrecs.entrypoints.http.application import create_application
from productrecs.entrypoints.http.dashboard.page_registry import navigation
from productrecs.entrypoints.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.users.dashboard_user import Role
from tests.api.inside import Inside
from tests.support.dashboard import Member, add_user, text_of
from tests.support.demo import demo_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["demo_folder"]

_NUMBER = r"[\d.,]+"
SAME = (
    (  # a number's wording on one page, and on another
        ("/dashboard", rf"({_NUMBER}) % found nothing"),
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
)


@pytest.fixture(scope="module")
def pages(
    demo_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str]]:
    """Return the text and the source of every page of the navigation."""
    folder = tmp_path_factory.mktemp("numbers")
    shutil.copytree(demo_folder, folder, dirs_exist_ok=True)
    now_ms = system_ms()
    services = replace(build_services(Settings(data=folder)), clock=lambda: now_ms)
    email = add_user(services, find_store(services.database, DOMAIN), Role.EDITOR)
    with Inside(create_application(services, draining=[])) as inside:
        member = Member(inside)
        assert member.log_in(email).status == 303
        paths = [page.path for _, group in navigation() for page in group]
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
    found = {path: re.search(wording, pages[path][0]) for path, wording in wordings}

    assert all(found.values()), found
    assert len({match[1].rstrip(".,") for match in found.values() if match}) == 1, found


def test_home_and_demand_count_the_same_alerts(pages: dict[str, tuple[str, str]]) -> None:
    home, demand = pages["/dashboard"][0], pages["/dashboard/demand"][0]
    tile = re.search(r"(\d+) sold out, (\d+) will sell out before new stock", demand)

    assert tile is not None
    for count, wording in zip(
        tile.groups(), ("are sold out", "will sell out"), strict=True
    ):
        said = rf"(and {int(count) - 1} more|{count} products) {wording}"
        assert re.search(said, home), (count, wording)
