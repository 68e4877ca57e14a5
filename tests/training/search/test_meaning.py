"""Search by meaning: texts are embedded once, in the background, and similar ones found."""

import dataclasses
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.search_index import IndexHits, IndexQuery, QueryRelaxation
from productrecs.engines.text.semantic_space import (
    EmbeddingProjection,
    SemanticSpace,
    Vectors,
)
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.training.search.indexer import Indexer
from productrecs.training.search.semantic_space_builder import (
    READ_BATCH,
    SemanticSpaceBuilder,
)
from productrecs.training.search.semantic_space_files import (
    StoredSemanticSpace,
    read_space,
    write_space,
)
from productrecs.training.search.served_index import ServedIndex, index_folder
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedder,
    QueryEmbedders,
    StoreSemanticSpaces,
)
from productrecs.training.search.text_embedder import TextEmbedder, TextModel
from tests.support.stores import new_store
from tests.support.text_models import ALIKE, model

VISIBLE = np.ones(200, dtype=np.bool_)


class CountingEmbedder(TextEmbedder):
    """A text model that tells what it embedded."""

    def __init__(self, path: Path) -> None:
        """Read the model at `path`."""
        super().__init__(TextModel.read(path))
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, and note the texts."""
        self.texts += texts
        return super().embed(texts)


@dataclass
class MeaningBench:
    """One store, what indexes and embeds its products, and what searches them."""

    database: Database
    reader: RawReader
    store: Store
    root: Path
    embedder: CountingEmbedder
    now: list[float] = field(default_factory=lambda: [0.0])

    def __post_init__(self) -> None:
        """Begin without an index."""
        self.indexer = Indexer(self.root, AccountDirectory(self.database))
        self.builder = self.another_builder()
        self.served = self.another_reader()

    def another_builder(self) -> SemanticSpaceBuilder:
        """Return what a restarted process begins with."""
        return SemanticSpaceBuilder(self.root, self.embedder, lambda: self.now[0])

    def another_reader(self) -> ServedIndex:
        """Return what another API process opens."""
        folder = index_folder(self.root, self.store.store_id)
        queries = QueryEmbedders(QueryEmbedder(self.embedder))
        return ServedIndex(folder, StoreSemanticSpaces(folder.folder, queries))

    def push(self, **titles: str) -> None:
        """Push items: ids with their titles."""
        patches = [ItemPatch(one, {"title": title}) for one, title in titles.items()]
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store.store_id)
            upsert_items(log, patches, 1)

    def settle(self) -> int:
        """Let all be indexed and embedded; return how many product texts were embedded."""
        while self.indexer.run_next_batches(self.reader):
            pass
        before = len(self.embedder.texts)
        self.now[0] += 100.0
        while self.builder.run_once(self.reader):
            self.now[0] += 100.0
        self.served.refresh()
        return sum(" " in text for text in self.embedder.texts[before:])

    def find(self, query: str) -> IndexHits:
        """Return the hits of a query."""
        return self.served.find(IndexQuery(self.served.analyse(query), 10, VISIBLE))


@pytest.fixture
def bench(database: Database, tmp_path: Path) -> Iterator[MeaningBench]:
    store = new_store(database)
    embedder = CountingEmbedder(model(tmp_path))
    reader = database.raw_reader()
    one = MeaningBench(database, reader, store, tmp_path / "search", embedder)
    one.push(
        **{
            f"{kind}-{first}": f"{kind} {first}"
            for first, _, _ in ALIKE
            for kind in ("grand", "small", "plain")
        }
    )
    yield one
    one.indexer.close()
    reader.close()


def test_a_word_that_no_product_has_finds_what_it_means(bench: MeaningBench) -> None:
    assert bench.settle() == 36

    sofas = bench.find("chesterfield ")
    mistyped = bench.find("refrigerater ")

    assert set(sofas.items) == {3, 4, 5}
    assert sofas.relaxed is QueryRelaxation.MEANING
    assert set(mistyped.items[:3]) == {0, 1, 2}  # embedded as the word it was read as
    assert mistyped.relaxed is QueryRelaxation.SPELLING
    assert bench.find("gramophone ").items == []
    assert bench.find("dcd771c2 ").items == []


def test_products_with_every_word_come_first_and_codes_match_by_words_only(
    bench: MeaningBench,
) -> None:
    bench.push(chesterfield="grand lamp", x="lamp chesterfield")
    bench.settle()

    by_word = bench.find("chesterfield")

    assert by_word.items == [36, 37]  # the one is named by its id
    bench.push(x="plain lamp")
    bench.settle()
    small_sofa = bench.find("small davenport ")
    assert small_sofa.items[0] == 4  # the word, and the meaning of the other
    assert small_sofa.relaxed is QueryRelaxation.WORDS


def test_a_word_that_the_model_knows_is_not_only_read_as_a_typing_mistake(
    bench: MeaningBench,
) -> None:
    bench.settle()
    bench.push(x="plain davenpart")
    bench.settle()

    found = bench.find("davenport ")

    assert set(found.items[:2]) == {4, 5}
    assert found.items[2] == 36  # only spelled alike
    assert found.relaxed is QueryRelaxation.WORDS
    assert bench.find("davenpast ").items == [36]  # a mistake: no word of the model's


def test_a_text_is_embedded_once_even_after_a_restart(bench: MeaningBench) -> None:
    bench.settle()
    bench.push(**{"grand-sofa": "grand sofa", "plain-rug": "plain carpet"})
    assert bench.settle() == 1

    bench.builder = bench.another_builder()
    assert bench.settle() == 0
    bench.push(new="grand kilim")
    assert bench.settle() == 1
    again = bench.another_reader()
    again.refresh()
    found = again.find(IndexQuery(again.analyse("kilim "), 10, VISIBLE))
    assert found.items[0] == 36


def test_queries_are_prepared_once_a_store_is_embedded_even_after_a_restart(
    bench: MeaningBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[int] = []

    def prepare(_: threading.Event) -> bool:
        prepared.append(len(bench.embedder.texts))
        return False

    monkeypatch.setattr(bench.embedder, "precompute_piece_vectors", prepare)
    assert not bench.builder.run_once(bench.reader)  # nothing is indexed yet
    assert prepared == []

    embedded = bench.settle()
    assert prepared
    assert prepared[0] >= embedded
    prepared.clear()
    bench.builder = bench.another_builder()
    assert bench.settle() == 0

    assert prepared


def test_a_push_of_more_products_than_a_batch_is_embedded_whole(
    bench: MeaningBench,
) -> None:
    titles = {f"lamp-{n}": f"plain lamp {n}" for n in range(2 * READ_BATCH + 10)}
    bench.push(**titles)

    assert bench.settle() == 36 + len(titles)


def test_a_deleted_product_is_not_found_by_meaning(bench: MeaningBench) -> None:
    bench.settle()
    with bench.database.transaction() as transaction:
        log = StoreLogTransaction(bench.database, transaction, bench.store.store_id)
        remove_item(log, "small-sofa", 2)
    hidden = VISIBLE.copy()
    hidden[3] = False  # by a rule, or sold out

    assert bench.settle() == 0
    wanted = IndexQuery(bench.served.analyse("chesterfield "), 10, hidden)
    assert bench.served.find(wanted).items == [5]


def test_a_change_waits_until_the_last_publication_is_paid_for(bench: MeaningBench) -> None:
    bench.settle()
    bench.now[0] += 0.01
    bench.push(new="grand kilim")
    while bench.indexer.run_next_batches(bench.reader):
        pass
    bench.builder.run_once(bench.reader)
    bench.push(newer="small kilim")

    assert not bench.builder.run_once(bench.reader)
    bench.now[0] += 1.0
    assert bench.builder.run_once(bench.reader)


def test_damaged_files_and_other_models_cost_only_the_meaning(bench: MeaningBench) -> None:
    bench.settle()
    folder = index_folder(bench.root, bench.store.store_id).folder
    for name in ("meaning.npz", "meaning-vectors.npz"):
        (folder / name).write_bytes(b"not what was written")
    bench.served.refresh()
    assert bench.find("chesterfield ").items == []
    assert bench.find("sofa ").items

    bench.builder = bench.another_builder()
    assert bench.settle() == 36
    assert bench.find("chesterfield ").items

    other = dataclasses.replace(bench.embedder.model, sha256="0" * 64)
    bench.embedder.model = other
    served = bench.another_reader()
    served.refresh()
    query = IndexQuery(served.analyse("chesterfield "), 10, VISIBLE)
    assert served.find(query).items == []  # vectors of another model
    bench.builder = bench.another_builder()
    assert bench.settle() == 36


def test_vectors_of_a_large_catalog_are_mapped_from_their_file_and_checked(
    tmp_path: Path,
) -> None:
    size = 128
    codes = np.random.default_rng(3).integers(-127, 128, (9_000, size), dtype=np.int8)
    projection = EmbeddingProjection(
        np.zeros(size, np.float32), np.eye(size, dtype=np.float32)
    )
    space = SemanticSpace(projection, codes, 0.5)
    write_space(tmp_path, StoredSemanticSpace(space, "a model", len(codes)))

    stored = read_space(tmp_path)
    assert stored is not None
    assert np.array_equal(stored.space.codes, codes)
    assert not stored.space.codes.flags.writeable  # a mapping, not a copy
    visible = np.ones(len(codes), dtype=np.bool_)
    vector = codes[4_711].astype(np.float32)
    assert stored.space.nearest(vector, visible, 1).items == [4_711]

    path = tmp_path / "meaning.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert read_space(tmp_path) is None


def test_search_by_words_works_when_the_model_cannot_be_run(bench: MeaningBench) -> None:
    bench.settle()
    bench.embedder.release()
    bench.embedder.model.path.unlink()

    assert bench.find("chesterfield ").items == []
    assert bench.find("sofa ").items
    bench.push(new="grand kilim")
    bench.settle()
    assert bench.builder.is_off
    assert not bench.builder.run_once(bench.reader)


def test_files_that_are_not_the_ones_described_are_refused(tmp_path: Path) -> None:
    path = model(tmp_path)
    assert TextModel.read(path).name.startswith("onnx-")
    tokenizer = tmp_path / "tokenizer.json"
    whole = tokenizer.read_bytes()
    tokenizer.write_bytes(whole + b" ")
    with pytest.raises(ModelFileError, match="tokenizer"):
        TextModel.read(path)
    tokenizer.write_bytes(whole)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelFileError, match="SHA-256"):
        TextModel.read(path)
    sidecar = path.with_suffix(".json")
    sidecar.unlink()
    with pytest.raises(ModelFileError, match="beside it"):
        TextModel.read(path)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_of_length_one_whatever_else_is_in_the_batch(
    tmp_path: Path, pooling: str
) -> None:
    path = model(tmp_path)
    sidecar = path.with_suffix(".json")
    fields = json.loads(sidecar.read_text()) | {"pooling": pooling}
    sidecar.write_text(json.dumps(fields))
    embedder = TextEmbedder(TextModel.read(path))

    alone = embedder.embed(["sofa"])
    beside = embedder.embed(["sofa", "sofa davenport chesterfield rug"])

    assert np.allclose(np.linalg.norm(beside, axis=1), 1.0)
    assert np.allclose(alone[0], beside[0])  # what fills a batch up counts nothing
    assert np.allclose(beside[0], beside[1]) == (pooling == "first")
    assert (
        embedder.knows_every_word("sofa rug"),
        embedder.knows_every_word("sofa zxqvbn"),
    ) == (
        True,
        False,
    )
