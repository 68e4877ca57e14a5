"""Guides: complete, with working links."""

import re
import shutil
import subprocess
from typing import Final

import pytest

from productrecs.core.clock import system_ms
from productrecs.features.guides.developer_guide_index import GUIDES, Guide
from productrecs.features.guides.developer_guide_rendering import (
    PICTURES,
    GuideTexts,
    UnknownGuideError,
    guide_source,
    render_llms_txt,
)
from productrecs.features.guides.markdown_html import render_guide_html
from productrecs.http.route_table import ROUTES
from productrecs.http.routes.public.developer_guide_tables import (
    GUIDE_TABLES,
    status_by_error_code,
)
from productrecs.settings import SETTING_DESCRIPTIONS
from productrecs.tenancy.accounts.api_keys import SecretKey, first_secret
from productrecs.tenancy.accounts.shopper_identity import IdentityVerdict, check_identity
from productrecs.tenancy.accounts.store_settings import SETTINGS
from tests.support.guides import LINK, PAGES, REFERENCE, cli_reference, prose, verbs

BASE = "https://recs.example"
LIBRARY = GuideTexts(GUIDE_TABLES)
BY_SLUG = {guide.slug: guide for guide in GUIDES}
SOURCES = {guide.slug: guide_source(guide) for guide in GUIDES}
EVERYTHING = "\n".join(SOURCES.values())
OF_THE_INTERFACE = sorted(path for path in ROUTES if path not in {"/"})


def anchors(slug: str) -> set[str]:
    return {
        heading.anchor
        for heading in render_guide_html(LIBRARY.markdown_with_facts(slug)).headings
    }


def lacking(wanted: list[str], text: str) -> list[str]:
    return [word for word in wanted if word not in text]


PHP_IDENTITY: Final = re.compile(
    r"function identity\((?:string|int) \$\w+[^)]*\): string\s*\{.*?\n *\}", re.DOTALL
)


def test_the_php_of_the_keys_guide_signs_as_the_service_checks() -> None:
    php = shutil.which("php")
    if php is None:
        pytest.skip("php is not installed")
    now_ms, secret = system_ms(), SecretKey("sk_" + "a" * 43)
    [function] = PHP_IDENTITY.findall(SOURCES["keys"])
    program = function.replace("self::SECRET", "getenv('SK')") + " echo identity('77');"
    done = subprocess.run(
        [php, "-n", "-r", program],
        env={"SK": secret},
        capture_output=True,
        text=True,
        check=True,
    )

    check = check_identity(first_secret(secret, now_ms), done.stdout, "77", now_ms)
    assert check is IdentityVerdict.VALID


def test_every_page_is_a_guide_and_every_guide_a_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == BY_SLUG.keys()


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.slug)
def test_a_guide_begins_with_its_title_and_is_short(guide: Guide) -> None:
    text = LIBRARY.markdown_with_facts(guide.slug)

    assert text.startswith(f"# {guide.title}\n")
    read_through = REFERENCE.sub("", SOURCES[guide.slug])  # verbs are looked up
    assert read_through.count("\n") <= 300
    assert "<!--" not in text
    assert " or |" not in text


def test_every_route_has_a_text_in_a_guide() -> None:
    assert lacking(OF_THE_INTERFACE, EVERYTHING) == []


def test_every_store_setting_is_explained_by_hand() -> None:
    assert lacking([f"**`{one.name}`**" for one in SETTINGS], SOURCES["settings"]) == []


def test_every_knob_and_setting_is_in_its_table() -> None:
    assert (
        lacking(
            [f"`{description.environment}`" for description in SETTING_DESCRIPTIONS],
            LIBRARY.markdown_with_facts("operations"),
        )
        == []
    )
    assert (
        lacking(
            [f"| `{one.name}` |" for one in SETTINGS],
            LIBRARY.markdown_with_facts("settings"),
        )
        == []
    )


def test_the_command_line_guide_has_every_command_with_its_options() -> None:
    found = REFERENCE.search(SOURCES["cli"])

    assert found is not None
    assert found.group(1) == cli_reference(), "run: python -m tests.support.guides"
    assert (
        lacking(
            [f"### {name}\n" for name, _ in verbs()], LIBRARY.markdown_with_facts("cli")
        )
        == []
    )


def test_every_error_code_has_its_remedy_under_its_status() -> None:
    statuses: dict[str, str] = {}
    status = ""
    for line in SOURCES["errors"].splitlines():
        if line.startswith("## "):
            status = line
        if line.startswith("### "):
            statuses[line.removeprefix("### ")] = status

    assert statuses.keys() == status_by_error_code().keys()
    assert [
        c for c, number in status_by_error_code().items() if str(number) not in statuses[c]
    ] == []


def test_a_missing_thing_would_be_noticed() -> None:
    assert lacking(["/v1/nothing"], EVERYTHING) == ["/v1/nothing"]


@pytest.mark.parametrize("slug", BY_SLUG)
def test_every_link_of_a_guide_leads_to_a_guide_and_a_heading(slug: str) -> None:
    dead = []
    for link in LINK.findall(prose(LIBRARY.markdown_with_facts(slug))):
        if link.removeprefix("{base_url}/docs/") in PICTURES:
            continue
        page, _, anchor = link.partition("#")
        target = page.removesuffix(".md") if page else slug
        if target not in BY_SLUG or (anchor and anchor not in anchors(target)):
            dead.append(link)

    assert dead == []


def test_the_index_lists_every_guide_once_in_the_form_of_llms_txt() -> None:
    text = render_llms_txt(BASE)
    listed = re.findall(r"^- \[([^\]]+)\]\((\S+)\): (.+)$", text, re.MULTILINE)
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)

    assert text.startswith("# ProductRecs\n\n> ")
    assert [url for _, url, _ in listed if "/docs-md/" in url] == [
        f"{BASE}/docs-md/{guide.slug}.md" for guide in GUIDES
    ]
    assert sections[-1] == "Optional"
    assert len(text.encode()) < 10_000
    assert all(url.startswith(BASE) for _, url, _ in listed)


def test_a_guide_as_sent_names_the_service_and_where_it_comes_from() -> None:
    sent = LIBRARY.markdown_with_source_line("quickstart", BASE)

    assert f"Source: {BASE}/docs-md/quickstart.md" in sent.splitlines()[2]
    assert f"{BASE}/llms.txt" in sent
    assert "{base_url}" not in sent


@pytest.mark.parametrize(
    "slug", ["recomendations", "../../settings", "", "\0", "x" * 9_999]
)
def test_an_unknown_guide_is_refused_with_those_that_come_near(slug: str) -> None:
    with pytest.raises(
        UnknownGuideError, match=r"try .*(recommendations|quickstart|settings)"
    ):
        LIBRARY.markdown_with_facts(slug)


def test_a_guide_table_without_a_source_is_an_error() -> None:
    with pytest.raises(KeyError):
        GuideTexts({}).markdown_with_facts("settings")


def test_every_guide_table_is_used_in_a_guide() -> None:
    assert [
        name for name in GUIDE_TABLES if f"<!-- facts: {name} -->" not in EVERYTHING
    ] == []
