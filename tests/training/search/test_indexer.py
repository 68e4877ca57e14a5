"""Search indexer: follows the catalog, rebuilds beside, and repairs itself."""

import gc
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from productrecs.engines.text.index_schema import FORMAT
from productrecs.engines.text.search_index import IndexQuery
from productrecs.records.catalog.catalog_push import (
    mark_all_items_changed,
    remove_item,
    upsert_items,
)
from productrecs.records.catalog.item import ItemPatch
from productrecs.storage.files.search_index_files import (
    DamagedIndexError,
    IndexManifest,
    try_lock_for_writing,
)
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import (
    change_settings,
    delete_store,
)
from productrecs.training.search import index_generation
from productrecs.training.search import indexer as following
from productrecs.training.search.index_generation import IndexGeneration
from productrecs.training.search.served_index import ServedIndex, index_folder
from tests.support.indexer_bench import VISIBLE, IndexerBench, damage
from tests.support.stores import new_store


def test_what_is_pushed_changed_and_deleted_is_followed(bench: IndexerBench) -> None:
    bench.settle()
    assert bench.search("kite") == []
    assert not bench.root.exists()  # a store without a catalog has no index

    bench.push(a="Blue kite", b="Red kite")
    bench.settle()
    assert sorted(bench.search("kite")) == [0, 1]

    bench.push(a="Sledge")
    with bench.database.transaction() as transaction:
        remove_item(
            StoreLogTransaction(bench.database, transaction, bench.store.store_id), "b", 1
        )
    bench.settle()
    assert bench.search("kite") == []
    assert bench.search("sledge") == [0]


def test_a_writer_that_starts_anew_goes_on_where_the_last_one_was(
    bench: IndexerBench,
) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    before = bench.folder.serving_manifest()

    bench.writer_starts_anew()
    bench.push(b="Red kite")
    bench.settle()

    after = bench.folder.serving_manifest()
    assert before is not None
    assert after is not None
    assert after.generation == before.generation
    assert sorted(bench.search("kite")) == [0, 1]


def test_a_large_catalog_comes_in_batches_and_another_stores_change_between(
    bench: IndexerBench,
) -> None:
    other = new_store(bench.database, "b.example")
    bench.push(**{f"i{n}": f"Kite number {n}" for n in range(2_500)})
    bench.indexer.run_next_batches(bench.reader)
    with bench.database.transaction() as transaction:
        patches = [ItemPatch("x", {"title": "Sledge"})]
        upsert_items(
            StoreLogTransaction(bench.database, transaction, other.store_id), patches, 1
        )

    bench.indexer.run_next_batches(bench.reader)

    theirs = ServedIndex(index_folder(bench.root, other.store_id))
    theirs.refresh()
    assert theirs.find(IndexQuery(theirs.analyse("sledge"), 1, VISIBLE)).items == [0]
    bench.served.refresh()
    assert bench.search("2400") == []  # its turn comes later
    bench.settle()
    assert bench.search("2400") == [2_400]


def test_what_changes_while_an_index_is_first_built_is_found_once(
    bench: IndexerBench,
) -> None:
    bench.push(**{f"i{n}": f"thing number{n}x" for n in range(2_500)})
    assert bench.indexer.run_next_batches(bench.reader)  # the first batch
    assert bench.indexer.run_next_batches(bench.reader)
    bench.push(i0="kettle", i1500="teapot", i2499="saucer")
    with bench.database.transaction() as transaction:
        remove_item(
            StoreLogTransaction(bench.database, transaction, bench.store.store_id), "i7", 1
        )
    bench.settle()
    assert [bench.search(word) for word in ("kettle", "teapot", "saucer")] == [
        [0], [1500], [2499],
    ]  # fmt: skip
    assert len(bench.search("number0x number1500x number7x number9x")) == 1
    assert bench.indexed == 2_499


def test_a_first_build_that_is_interrupted_doubles_and_loses_nothing(
    bench: IndexerBench,
) -> None:
    bench.push(**{f"i{n}": f"thing number{n}x" for n in range(2_500)})
    assert bench.indexer.run_next_batches(bench.reader)  # the first batch is published
    assert bench.indexer.run_next_batches(bench.reader)  # the second is not yet
    bench.writer_starts_anew()
    bench.settle()
    assert bench.indexed == 2_500
    for n in (0, 999, 1_000, 2_499):
        assert bench.search(f"number{n}x") == [n]


@pytest.mark.parametrize("rests", [False, True])
def test_all_words_are_known_once_a_first_build_is_done(
    bench: IndexerBench, monkeypatch: pytest.MonkeyPatch, *, rests: bool
) -> None:
    monkeypatch.setattr(index_generation, "_GROWTH", 1)  # each batch is committed
    bench.push(**{f"i{n}": f"{_spelled(n)}lantern" for n in range(2_100)})
    seal = IndexManifest(
        bench.folder.create_generation_folder(), FORMAT, "en", "en", applied_seq=0
    )
    follower = IndexGeneration(bench.store.store_id, bench.folder, seal)
    steps = 0
    while not follower.index_next_batch(bench.reader, 10**6, publish=True):
        steps += 1
        if rests:
            follower.commit_and_publish_if_due(
                now=True
            )  # as where many stores are written at once
    follower.commit_and_publish_if_due(now=True)
    bench.served.refresh()

    assert steps == 2
    for n in (5, 1_005, 2_050):
        assert bench.search(f"{_spelled(n)}lantenr ") == [n]  # a mistyped word


def _spelled(number: int) -> str:
    """Return five letters that are another number's in three places at least."""
    digits = [number // 26**n % 26 for n in range(3)]
    digits += [sum(digits) % 26, (digits[0] + 2 * digits[1] + 3 * digits[2]) % 26]
    return "".join(chr(97 + one) for one in digits)


def test_another_language_is_built_beside_while_the_last_index_serves(
    bench: IndexerBench,
) -> None:
    bench.push(a="Häuser", b="Zelt")
    bench.settle()
    assert bench.search("haus ") == []  # in English these are two words
    first = bench.folder.serving_manifest()

    change_settings(bench.database, bench.store, {"language": "de"})
    bench.push(b="Kite")
    assert bench.search("häuser") == [0]
    bench.settle()

    second = bench.folder.serving_manifest()
    assert first is not None
    assert second is not None
    assert (first.language, second.language) == ("en", "de")
    assert bench.search("haus ") == [0]
    assert bench.search("kite") == [1]
    assert not bench.folder.path(first.generation).exists()


def test_a_damaged_index_is_built_anew_while_the_last_good_one_serves(
    bench: IndexerBench,
) -> None:
    bench.push(a="Blue kite", b="Sledge")
    bench.settle()
    broken = damage(bench)

    bench.writer_starts_anew()
    assert bench.indexer.run_next_batches(bench.reader)
    bench.served.refresh()
    assert bench.search("kite") == [0]
    bench.settle()

    seal = bench.folder.serving_manifest()
    assert seal is not None
    assert seal.generation != broken
    bench.folder.verify_checksums(seal)
    assert bench.search("sledge") == [1]


def test_a_reader_that_finds_damage_asks_for_a_new_index(bench: IndexerBench) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    broken = damage(bench)

    fresh = ServedIndex(bench.folder)
    fresh.refresh()
    assert fresh.find(IndexQuery(fresh.analyse("kite"), 1, VISIBLE)).items == []
    bench.settle()
    fresh.refresh()

    seal = bench.folder.serving_manifest()
    assert seal is not None
    assert seal.generation != broken
    assert fresh.find(IndexQuery(fresh.analyse("kite"), 1, VISIBLE)).items == [0]


@pytest.mark.parametrize("how", ["flipped", "cut"])
def test_files_that_are_damaged_in_place_harm_no_search(
    bench: IndexerBench, how: str
) -> None:
    bench.push(a="Blue kite", b="Sledge")
    bench.settle()
    broken = bench.folder.serving_manifest()
    assert broken is not None
    assert bench.indexer.run_next_batches(bench.reader) is False

    for file in bench.folder.path(broken.generation).glob("*/*.*"):
        if file.suffix in {".json", ".lock"}:
            continue
        with file.open("r+b") as opened:  # the very file that a reader would map
            if how == "cut":
                opened.truncate(0)
            else:
                opened.write(bytes(one ^ 0xFF for one in file.read_bytes()))
    assert bench.search("kite") == [0]
    for query in ("kiet", "blue kite", "b", "sled", "nothing"):
        bench.served.suggest(bench.served.analyse(query), 3, VISIBLE)
    bench.settle()  # the writer looks by itself

    seal = bench.folder.serving_manifest()
    assert seal is not None
    assert seal.generation != broken.generation
    assert bench.search("kite") == [0]
    assert bench.search("sledge") == [1]


def test_a_readers_copy_goes_with_it_and_those_of_killed_readers_with_the_next(
    bench: IndexerBench,
) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    copies = bench.root / ".read"
    left = copies / "killed"
    left.mkdir()
    (left / ".alive").touch()
    other = ServedIndex(bench.folder)

    other.refresh()

    assert not left.exists()
    assert len(list(copies.iterdir())) == 2
    del other
    gc.collect()
    assert len(list(copies.iterdir())) == 1


def test_control_the_checksums_see_the_damage(bench: IndexerBench) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    seal = bench.folder.serving_manifest()
    assert seal is not None
    bench.folder.verify_checksums(seal)

    damage(bench)

    with pytest.raises(DamagedIndexError):
        bench.folder.verify_checksums(seal)


def test_an_index_that_somebody_removed_is_built_anew(bench: IndexerBench) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    shutil.rmtree(bench.folder.folder)
    bench.served.refresh()
    assert bench.search("kite") == [0]  # the last good one serves

    bench.settle()  # the writer was not started anew, and nothing was pushed

    fresh = ServedIndex(bench.folder)
    fresh.refresh()
    assert fresh.find(IndexQuery(fresh.analyse("kite"), 1, VISIBLE)).items == [0]
    bench.push(b="Sledge")
    bench.settle()
    assert bench.search("sledge") == [1]


def test_what_says_which_index_serves_is_written_again_when_it_was_torn(
    bench: IndexerBench,
) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    serving = bench.folder.serving_manifest()
    assert serving is not None
    note = bench.folder.folder / "current.json"
    note.write_bytes(note.read_bytes()[:40])
    assert bench.folder.serving_manifest() is None

    bench.settle()  # nothing was pushed

    found = bench.folder.serving_manifest()
    assert found is not None
    assert found.generation == serving.generation
    fresh = ServedIndex(bench.folder)
    fresh.refresh()
    assert fresh.find(IndexQuery(fresh.analyse("kite"), 1, VISIBLE)).items == [0]


@pytest.mark.parametrize("suffix", ["term", "store", "json"])
def test_a_missing_file_is_damage(bench: IndexerBench, suffix: str) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    broken = bench.folder.serving_manifest()
    assert broken is not None
    for file in bench.folder.path(broken.generation).glob(f"products/*.{suffix}"):
        file.unlink()

    bench.writer_starts_anew()
    bench.settle()

    seal = bench.folder.serving_manifest()
    assert seal is not None
    assert seal.generation != broken.generation
    assert bench.search("kite") == [0]


def test_control_what_was_merged_away_is_no_damage(bench: IndexerBench) -> None:
    seals = []
    for n in range(12):
        bench.push(**{f"i{n}": f"Blue kite {n}", "i0": f"Sledge {n}"})
        bench.settle()
        bench.indexer.close()
        seals.append(bench.folder.serving_manifest())

    assert seals[0] is not None
    assert seals[-1] is not None
    gone = (seals[0].files or {}).keys() - (seals[-1].files or {}).keys()
    assert gone
    for seal in seals:
        assert seal is not None
        assert seal.generation == seals[0].generation
        bench.folder.verify_checksums(replace(seals[-1], files=seal.files))


def test_an_index_of_another_release_is_built_anew(bench: IndexerBench) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    note = bench.folder.folder / "current.json"
    note.write_text(
        note.read_text("utf-8").replace('"format": "', '"format": "0 '), "utf-8"
    )

    bench.writer_starts_anew()
    bench.settle()

    assert bench.search("kite") == [0]
    assert '"format": "0 ' not in note.read_text("utf-8")


def test_pushing_the_catalog_again_changes_nothing_that_is_found(
    bench: IndexerBench,
) -> None:
    bench.push(a="Blue kite", b="Sledge")
    bench.settle()

    list(mark_all_items_changed(bench.database, bench.store.store_id))
    bench.settle()

    assert bench.search("kite") == [0]
    assert bench.search("sledge") == [1]


def test_a_deleted_stores_index_goes_with_it(bench: IndexerBench) -> None:
    bench.push(a="Blue kite")
    bench.settle()
    assert bench.folder.folder.exists()

    delete_store(bench.database, bench.store)
    bench.settle()

    assert not bench.folder.folder.exists()


def test_many_stores_are_indexed_with_few_writers_open_at_once(
    bench: IndexerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[IndexGeneration] = []
    highest = 0
    step = IndexGeneration.index_next_batch

    def counted(self: IndexGeneration, *words: Any, **options: Any) -> bool:
        nonlocal highest
        is_done = step(self, *words, **options)
        opened.append(self)
        highest = max(highest, sum(one.has_writer for one in opened))
        return is_done

    monkeypatch.setattr(IndexGeneration, "index_next_batch", counted)
    for number in range(10):
        other = new_store(bench.database, f"s{number}.example")
        replace(bench, store=other).push(a="Blue kite")

    bench.indexer.run_next_batches(bench.reader)

    assert len(opened) == 10
    assert highest <= 2 * following._MAX_WRITERS  # noqa: SLF001 - the limit itself


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with try_lock_for_writing(tmp_path) as first, try_lock_for_writing(tmp_path) as second:
        assert (first, second) == (True, False)
    with try_lock_for_writing(tmp_path) as third:
        assert third
