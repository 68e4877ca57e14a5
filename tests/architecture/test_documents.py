"""Documents: their links and references lead somewhere."""

import re
from pathlib import Path

from tests.support.project import ROOT

PARTS = ("Date: ", "**Alternatives:** ", "**What enforces it:** ")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
PAGE = re.compile(r"docs/decisions/[\w-]+\.md")
MODULE = re.compile(r"`((?!YYYY)[\w/]+\.py)`")


def documents(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def dead_links(root: Path) -> list[str]:
    return [
        f"{page.relative_to(root)}: {target}"
        for page in documents(root)
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]


def dead_mentions(root: Path) -> list[str]:
    """Return the decisions that code or documents name and that are not there."""
    code = sorted((root / "src").rglob("*.py"))
    return [
        f"{path.relative_to(root)}: {mention}"
        for path in [*documents(root), *code]
        for mention in PAGE.findall(path.read_text("utf-8"))
        if not (root / mention).exists()
    ]


def missing_modules(text: str, paths: set[str]) -> list[str]:
    """Return the modules that a text names and that no path ends with."""
    known = {"/" + path for path in paths}
    named = MODULE.findall(text)
    return [one for one in named if not any(path.endswith("/" + one) for path in known)]


def decisions() -> list[Path]:
    return sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


def test_every_link_leads_somewhere() -> None:
    assert dead_links(ROOT) == []


def test_every_decision_that_is_named_is_there() -> None:
    assert dead_mentions(ROOT) == []


def test_decisions_are_numbered_without_gaps_and_have_all_their_parts() -> None:
    pages = decisions()
    numbers = [page.name.split("-")[0] for page in pages]

    lacking = [
        f"{page.name}: {part}"
        for page in pages
        for part in PARTS
        if f"\n\n{part}" not in page.read_text("utf-8")
    ]

    assert lacking == []
    assert numbers == [f"{number:04}" for number in range(1, len(pages) + 1)]


def test_a_dead_link_and_a_missing_decision_are_caught(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("[a](gone.md) [b](README.md#top) [c](https://x.y)")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("# see docs/decisions/0099-gone.md")

    assert dead_links(tmp_path) == ["README.md: gone.md"]
    assert dead_mentions(tmp_path) == ["src/a.py: docs/decisions/0099-gone.md"]


def test_every_module_that_a_page_for_developers_names_is_there() -> None:
    folders = ("src", "tests", "tools", "benchmarks")
    paths = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    }
    pages = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *decisions()]

    missing = {page.name: missing_modules(page.read_text("utf-8"), paths) for page in pages}

    assert {page: modules for page, modules in missing.items() if modules} == {}


def test_a_module_that_moved_is_caught() -> None:
    text = "`caches/store.py` and `store.py` and `old/store.py`"

    assert missing_modules(text, {"src/caches/store.py"}) == ["old/store.py"]
