"""Text model switch: a space keeps its model until the next has embedded all products."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from productrecs.storage.sql.database import Database
from productrecs.training.search import semantic_space_builder
from productrecs.training.search.semantic_space_files import (
    MEANING,
    count_served_stores,
    delete_previous_vectors,
    stored_model_name,
)
from productrecs.training.search.served_index import ServedIndex, index_folder
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedder,
    QueryEmbedders,
    StoreSemanticSpaces,
)
from tests.support.stores import new_store
from tests.support.text_models import ALIKE, model
from tests.training.search.test_meaning import CountingEmbedder, MeaningBench

TEXTS = 3 * len(ALIKE)


class SwitchBench(MeaningBench):
    """A store whose texts are embedded by one of two models."""

    embedders: dict[str, CountingEmbedder]

    def another_reader(self) -> ServedIndex:
        """Return an index that finds the model of each space."""

        def by_model(name: str) -> QueryEmbedder | None:
            found = [one for one in self.embedders.values() if one.model.name == name]
            return QueryEmbedder(found[0]) if found else None

        folder = index_folder(self.root, self.store.store_id)
        queries = QueryEmbedders(by_model=by_model)
        return ServedIndex(folder, StoreSemanticSpaces(folder.folder, queries))

    def use(self, name: str) -> None:
        """Begin to embed with a model, as the indexing process does."""
        self.embedder = self.embedders[name]
        self.builder = self.another_builder()

    def serving(self) -> str | None:
        """Return the model of the serving space."""
        path = self.root / self.store.store_id / MEANING.space_file
        found = stored_model_name(path)
        names = [name for name, one in self.embedders.items() if one.model.name == found]
        return names[0] if names else None


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Iterator[SwitchBench]:
    store = new_store(database)
    embedders = {}
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        embedders[name] = CountingEmbedder(model(tmp_path / name, name=name))
    SwitchBench.embedders = embedders
    reader = database.raw_reader()
    one = SwitchBench(database, reader, store, tmp_path / "search", embedders["first"])
    titles = {
        f"{kind}-{first}": f"{kind} {first}"
        for first, _, _ in ALIKE
        for kind in ("grand", "small", "plain")
    }
    one.push(**titles)
    yield one
    one.indexer.close()
    reader.close()


def test_searches_follow_the_space_and_a_switch_back_embeds_nothing(
    bench: SwitchBench,
) -> None:
    assert bench.settle() == TEXTS
    first = bench.serving(), set(bench.find("fridge").items)
    bench.use("second")
    assert bench.settle() == TEXTS
    asked = [len(one.texts) for one in bench.embedders.values()]
    second = bench.serving(), set(bench.find("fridge").items)
    asked_after = [len(one.texts) for one in bench.embedders.values()]

    bench.use("first")

    assert bench.settle() == 0
    assert bench.serving() == "first"
    assert first == ("first", second[1])
    assert second[0] == "second"
    assert asked_after == [asked[0], asked[1] + 1]  # the second model embeds the query
    assert len(first[1]) == 3


def test_a_half_done_switch_leaves_the_space_and_goes_on(
    bench: SwitchBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic_space_builder, "READ_BATCH", 8)
    assert bench.settle() == TEXTS
    bench.use("second")
    bench.now[0] += 100.0
    for _ in range(2):
        bench.builder.run_once(bench.reader)
    bench.served.refresh()
    meanwhile = bench.serving(), len(bench.find("fridge").items)
    embedded = sum(" " in text for text in bench.embedders["second"].texts)

    bench.use("second")  # a process that was killed begins again

    rest = bench.settle()
    assert meanwhile == ("first", 3)
    assert 0 < embedded < TEXTS
    assert rest == TEXTS - embedded
    assert bench.serving() == "second"


def test_vectors_of_a_model_that_serves_no_store_can_be_deleted(bench: SwitchBench) -> None:
    bench.settle()
    bench.use("second")
    bench.settle()
    names = {name: one.model.name for name, one in bench.embedders.items()}
    previous = bench.root / bench.store.store_id / MEANING.previous_vectors_file
    before = previous.exists()

    delete_previous_vectors(bench.root, names["first"])

    assert before
    assert not previous.exists()
    assert count_served_stores(bench.root, names["first"]) == (0, 1)
    assert count_served_stores(bench.root, names["second"]) == (1, 1)
