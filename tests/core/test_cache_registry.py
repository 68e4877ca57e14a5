"""Caches: each is in the table, used, and bounded."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from productrecs.core.cache_registry import BoundedCache, RegisteredCache, memoized
from tests.support.project import ROOT

SOURCE: Final = ROOT / "src" / "productrecs"
TABLE: Final = "core/cache_registry.py"
NO_CACHES: Final = {
    "records/pictures/packaged_encoder.py": "an OrderedDict is a type in the model's file",
    "records/search_counts/search_counter.py": "searches in typing, which get counted",
    "storage/files/snapshot_cache.py": "copies of snapshots on disk",
    "http/pipeline/process_metrics.py": "times until they are counted",
}
"""Modules with a bounded collection that is no cache, and what it is."""


def signs_of_a_cache(text: str) -> Iterator[str]:
    """Yield what in a module's source is, or looks like, a cache."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module="functools"):
                yield from {one.name for one in node.names} & {"lru_cache", "cache"}
            case ast.Attribute(value=ast.Name("functools"), attr="lru_cache" | "cache"):
                yield node.attr
            case ast.ClassDef() if node.name.endswith("Cache"):
                yield node.name
            case ast.Name("OrderedDict" | "BoundedCache"):
                yield node.id
            case ast.If() | ast.While() if "len(" in ast.unparse(node.test):
                body = ast.unparse(ast.Module(node.body, []))
                if re.search(r"\.clear\(\)|\.popitem\(|del .*next\(iter\(", body):
                    yield ast.unparse(node.test)


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    """Return the source of every module but the table, by its path."""
    return {
        name: path.read_text("utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := path.relative_to(SOURCE).as_posix()) != TABLE
    }


def test_every_cache_is_in_the_table(modules: dict[str, str]) -> None:
    found = {name: set(signs_of_a_cache(text)) for name, text in modules.items()}
    unlisted = {
        name: signs
        for name, signs in found.items()
        if signs and "Cache." not in modules[name]
    }

    assert unlisted.keys() == NO_CACHES.keys(), unlisted
    assert [name for name, signs in found.items() if {"lru_cache", "cache"} & signs] == []


@pytest.mark.parametrize(
    "source",
    [
        "from functools import lru_cache",
        "import functools\n@functools.cache\ndef f(): ...",
        "class WordCache: ...",
        "from collections import OrderedDict\nkept = OrderedDict()",
        "if len(known) >= 9:\n    known.clear()",
        "while len(known) > 9:\n    del known[next(iter(known))]",
    ],
)
def test_control_a_cache_of_any_form_is_found(source: str) -> None:
    assert list(signs_of_a_cache(source))


def test_every_entry_of_the_table_is_used_and_has_a_limit(modules: dict[str, str]) -> None:
    code = "\n".join(modules.values())

    assert [one.name for one in RegisteredCache if f"Cache.{one.name}" not in code] == []
    assert [one.name for one in RegisteredCache if one.limit < 1] == []
    assert len(RegisteredCache) == len(
        RegisteredCache.__members__
    )  # equal entries would be one


def test_a_full_cache_begins_anew() -> None:
    most = RegisteredCache.PLUGIN_ARCHIVES.limit
    cache: BoundedCache[int, str] = BoundedCache(
        RegisteredCache.PLUGIN_ARCHIVES, bytes_each=100
    )

    for key in range(most):
        assert cache.put(key, str(key)) == str(key)
    assert (cache.get(0), cache.memory_bytes()) == ("0", 100 * most)

    cache.put(most, "new")
    assert (cache.get(0), cache.get(most), cache.memory_bytes()) == (None, "new", 100)


def test_a_memoized_function_keeps_as_many_results_as_its_cache_may() -> None:
    called = []

    @memoized(RegisteredCache.PLUGIN_ARCHIVES)
    def square(number: int) -> int:
        called.append(number)
        return number * number

    for number in [*range(RegisteredCache.PLUGIN_ARCHIVES.limit + 1), 1, 0]:
        assert square(number) == number * number

    assert called == [*range(RegisteredCache.PLUGIN_ARCHIVES.limit + 1), 0]
