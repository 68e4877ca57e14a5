"""Store semantic spaces: a store's products of similar meaning in one process."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, RegisteredCache
from productrecs.engines.array_types_and_sorting import Bools
from productrecs.engines.text.query_interpreter import InterpretedWord
from productrecs.engines.text.search_index import (
    IndexHits,
    IndexQuery,
    QueryRelaxation,
)
from productrecs.engines.text.semantic_space import (
    RankedSimilarProducts,
    SemanticSpace,
    Vectors,
)
from productrecs.engines.text.tokenizer import is_code
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.semantic_space_files import (
    LANGUAGES,
    MEANING,
    SemanticSpaceKind,
    read_space,
    space_stamp,
)
from productrecs.training.search.text_embedder import TextEncoder

_log = logging.getLogger(__name__)

FUSED_BELOW: Final = 20
"""Number of products with every word from which no similar ones are added."""

MAX_SIMILAR: Final = 100
_RANK_OFFSET: Final = 20
_SIMILAR_WEIGHT: Final = 0.7  # of similar products beside partial matches
_HIGHEST_RANK_SCORE: Final = (1.0 + _SIMILAR_WEIGHT) / _RANK_OFFSET
_BELOW_COMPLETE: Final = 0.9  # relative to the last score above, as for partial matches


def fuse_with_similar_products(
    hits: IndexHits, similar: Sequence[int], limit: int, *, is_meant: bool = False
) -> IndexHits:
    """Return the hits fused with `similar` products, most similar first.

    Hits by id and hits with every word stay first. Below them, partial matches and similar
    products are merged by reciprocal rank fusion; with `is_meant`, a word was read as
    another although it was meant as typed, and similar products come first; otherwise those
    with the head noun of a word pair do. Hits without any match by word are marked as such.
    """
    complete = hits.items[: hits.complete]
    complete_items = set(complete)
    similar = [item for item in similar if item not in complete_items]
    if not similar:
        return hits
    ranks: dict[int, float] = {}
    begin = len(similar) if is_meant else 0
    weight = 1.0 if is_meant else _SIMILAR_WEIGHT
    partial = hits.items[hits.complete :]
    for first_rank, share, ranked in ((begin, 1.0, partial), (0, weight, similar)):
        for rank, item in enumerate(ranked, first_rank):
            ranks[item] = ranks.get(item, 0.0) + share / (_RANK_OFFSET + rank)
    for item in () if is_meant else hits.items[: hits.same_head_noun]:
        ranks[item] += _HIGHEST_RANK_SCORE
    order = sorted(ranks, key=lambda item: (-ranks[item], item))[: limit - len(complete)]
    if not order:
        return hits
    ceiling = _BELOW_COMPLETE * hits.scores[hits.complete - 1] if complete else 1.0
    scale = ceiling / ranks[order[0]]
    return replace(
        hits,
        items=[*complete, *order],
        scores=[*hits.scores[: hits.complete], *(scale * ranks[item] for item in order)],
        with_every_word=hits.complete,
        relaxed=QueryRelaxation.WORDS if hits.items else QueryRelaxation.MEANING,
    )


_MIN_LETTERS: Final = 3  # minimum length of a meaningful word
NO_PRODUCTS: Final = RankedSimilarProducts([], [])


class EmbeddedQuery(NamedTuple):
    """A query as a vector, and whether the model knows its words."""

    vector: Vectors
    is_known: bool


class QueryEmbedder:
    """Embeddings of queries, cached; one in a process, safe to use from any thread."""

    def __init__(
        self, embedder: TextEncoder, *, is_of_operators_model: bool = False
    ) -> None:
        """Start with an empty cache.

        An operator's model may know other languages: no other model is asked beside it.
        """
        self.embedder = embedder
        self.is_of_operators_model = is_of_operators_model
        self._queries: BoundedCache[str, EmbeddedQuery] = BoundedCache(
            RegisteredCache.QUERY_VECTORS
        )

    def embed(self, text: str) -> "EmbeddedQuery":
        """Return the vector of a query; takes 1 to 3 ms if it is not cached.

        Raises:
            ModelFileError: when the model cannot be run.
        """
        embedded = self._queries.get(text)
        if embedded is None:
            vector = self.embedder.embed_queries([text])[0]
            is_known = self.embedder.knows_every_word(text)
            embedded = self._queries.put(text, EmbeddedQuery(vector, is_known))
        return embedded


class QueryEmbedders(NamedTuple):
    """The text models of a process, as far as they are installed."""

    meaning: QueryEmbedder | None = None
    languages: QueryEmbedder | None = None
    by_model: Callable[[str], QueryEmbedder | None] | None = None
    """Finds the one of a stored space, which may be of another model during a switch."""

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return self.meaning is None and self.languages is None and self.by_model is None

    def embedder_of(self, model: str, kind: SemanticSpaceKind) -> QueryEmbedder | None:
        """Return the embedder of a space; None if its model is not here."""
        current = self.languages if kind is LANGUAGES else self.meaning
        if current is not None and current.embedder.model.name == model:
            return current
        if kind is LANGUAGES or self.by_model is None:
            return None
        return self.by_model(model)


class ServedSemanticSpace:
    """One semantic space of a store; one thread refreshes it, any number search it."""

    def __init__(
        self, folder: Path, queries: QueryEmbedders, kind: SemanticSpaceKind
    ) -> None:
        """Start without a space; `refresh` reads it. Without its model it stays empty."""
        self._folder, self._kind = folder, kind
        self._queries = queries
        self._served: tuple[SemanticSpace, QueryEmbedder] | None = None
        self._stamp: tuple[int, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search."""
        return self._served is None

    @property
    def is_of_operators_model(self) -> bool:
        """Whether it is of an operator's model."""
        return self._served is not None and self._served[1].is_of_operators_model

    def refresh(self) -> bool:
        """Read the space if it changed, with its model; return whether it did."""
        stamp = space_stamp(self._folder, self._kind)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        stored = read_space(self._folder, self._kind)
        if stored is not None:
            queries = self._queries.embedder_of(stored.model, self._kind)
            if queries is not None:
                self._served = stored.space, queries
                return True
        self._served = None
        return True

    def similar_to(self, text: str, visible: Bools, limit: int) -> RankedSimilarProducts:
        """Return the visible products whose texts are similar to a text in meaning."""
        if (served := self._served) is None:
            return NO_PRODUCTS
        space, queries = served
        if not any(map(_is_content_word, text.split())):
            return NO_PRODUCTS
        try:
            query = queries.embed(text)
        except ModelFileError:
            self._log_and_discard()
            return NO_PRODUCTS
        if not query.vector.any():
            return NO_PRODUCTS
        return space.nearest(query.vector, visible, limit, is_known=query.is_known)

    def knows_word(self, word: str) -> bool:
        """Return whether the model knows a word."""
        if (served := self._served) is None:
            return False
        try:
            return served[1].embedder.knows_every_word(word)
        except ModelFileError:
            self._log_and_discard()
            return False

    def memory_bytes(self) -> int:
        """Return the memory of the vectors."""
        served = self._served
        return 0 if served is None else served[0].memory_bytes()

    def _log_and_discard(self) -> None:
        _log.exception("text model unavailable")
        self._served = None


class StoreSemanticSpaces:
    """One store's products of similar meaning, in the store's language and in others."""

    def __init__(self, folder: Path, queries: QueryEmbedders) -> None:
        """Start without vectors; `refresh` reads them."""
        self._meaning = ServedSemanticSpace(folder, queries, MEANING)
        self._languages = ServedSemanticSpace(folder, queries, LANGUAGES)

    def refresh(self) -> bool:
        """Read the spaces that changed; return whether any did."""
        changed = [self._meaning.refresh(), self._languages.refresh()]
        return any(changed)

    def add_similar_if_few(self, query: IndexQuery, hits: IndexHits) -> IndexHits:
        """Return the hits plus similar products, if few hits contain every query word.

        A query by product id or sku, or of codes only, adds no similar products.
        """
        if not query.by_meaning or hits.exact:
            return hits
        similar = self._fuse_similar_in_meaning(query, hits)
        if (
            similar is None
            and not self._meaning.is_of_operators_model
            and may_be_in_another_language(hits)
        ):
            similar = self._fuse_similar_across_languages(query, hits)
        return hits if similar is None else similar

    def _fuse_similar_in_meaning(
        self, query: IndexQuery, hits: IndexHits
    ) -> IndexHits | None:
        """Return the hits plus similar products; None without any."""
        if self._meaning.is_empty:
            return None
        has_word_meant_as_typed = any(map(self._is_meant_as_typed, hits.words))
        if has_word_meant_as_typed:
            hits = replace(hits, complete=hits.exact)
        min_complete = query.limit if query.min_complete is None else query.min_complete
        if hits.complete >= min(FUSED_BELOW, min_complete):
            return None
        text = " ".join(
            word.typed if has_word_meant_as_typed and word.is_corrected else word.read
            for word in hits.words
        )
        limit = min(query.limit, MAX_SIMILAR)
        similar = self.similar_to(text, query.visible, limit)
        if not similar.items:
            return None
        return fuse_with_similar_products(
            hits, similar.items, query.limit, is_meant=has_word_meant_as_typed
        )

    def _fuse_similar_across_languages(
        self, query: IndexQuery, hits: IndexHits
    ) -> IndexHits | None:
        """Return similar products plus the hits by some of the words; None without any."""
        limit = min(query.limit, MAX_SIMILAR)
        text = query.query.text.strip()
        similar = self._languages.similar_to(text, query.visible, limit)
        if not similar.items:
            return None
        return fuse_with_similar_products(hits, similar.items, query.limit, is_meant=True)

    def similar_to(self, text: str, visible: Bools, limit: int) -> RankedSimilarProducts:
        """Return the visible products whose texts are similar to a text in meaning."""
        return self._meaning.similar_to(text, visible, limit)

    def _is_meant_as_typed(self, word: InterpretedWord) -> bool:
        """Return whether a word was corrected although the model knows it as typed.

        Example: a store without couches corrects "couches" to "pouches".
        """
        return word.is_corrected and self._meaning.knows_word(word.typed)

    def memory_bytes(self) -> int:
        """Return the memory of the vectors."""
        return self._meaning.memory_bytes() + self._languages.memory_bytes()


def may_be_in_another_language(hits: IndexHits) -> bool:
    """Return whether no product has every word, and the catalog lacks half of the words."""
    if hits.complete:
        return False
    words = [word for word in hits.words if _is_content_word(word.typed)]
    unknown = sum(not word.is_known for word in words)
    return not hits.items or unknown * 2 >= max(len(words), 1)


def _is_content_word(word: str) -> bool:
    return len(word) >= _MIN_LETTERS and not is_code(word)
