"""Index schema: the fields of a product document, stored stems, and errors of the index."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, NamedTuple

import tantivy

from productrecs.core.errors import ProductRecsError
from productrecs.engines.text.head_nouns import head_nouns
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.engines.text.tokenizer import indexed_words

_BREAK: Final = "\n"


class ProductStems(NamedTuple):
    """The stems of a product's title, and of the beginning of its description."""

    title: frozenset[str]
    lead: frozenset[str]


def encode_product_stems(title: Iterable[str], lead: Iterable[str]) -> bytes:
    """Return stems in their stored form."""
    return (" ".join(title) + _BREAK + " ".join(dict.fromkeys(lead))).encode()


def decode_product_stems(text: bytes) -> ProductStems:
    """Decode the result of `encode_product_stems`."""
    title, _, lead = text.decode().partition(_BREAK)
    return ProductStems(frozenset(title.split()), frozenset(lead.split()))


FORMAT: Final = f"12 tantivy-{version('tantivy')}"
"""Format version: changes when older indexes must not be read."""

HEAD = "head"
TITLE, CODES, CATEGORIES, DESCRIPTION = "title", "codes", "categories", "description"
NUMBER, EXACT, PROFILE, NEW_WORDS = "number", "exact", "gist", "new_words"
FIELDS: Final = (TITLE, CATEGORIES, DESCRIPTION, CODES, HEAD)

MAX_DESCRIPTION: Final = 12_000
"""Characters of a description that are indexed; later ones rarely matter."""

_LEAD: Final = 300
"""Characters of a description whose stems are stored; more would dilute it."""

_PLAIN_TOKENIZER: Final = "plain"


@dataclass(frozen=True, slots=True)
class ProductText:
    """The searchable texts of a product; `codes` are its id and sku."""

    number: int
    title: str
    codes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    description: str = ""


def products_schema() -> tantivy.Schema:
    """Return the fields of a product: stems of its texts, and its number."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field(NUMBER, indexed=True, fast=True)
    builder.add_text_field(EXACT, tokenizer_name="raw", index_option="basic")
    for name in (TITLE, CODES, CATEGORIES):
        builder.add_text_field(
            name, tokenizer_name=_PLAIN_TOKENIZER, index_option="position"
        )
    builder.add_text_field(HEAD, tokenizer_name=_PLAIN_TOKENIZER, index_option="basic")
    builder.add_text_field(
        DESCRIPTION, tokenizer_name=_PLAIN_TOKENIZER, index_option="freq"
    )
    builder.add_bytes_field(PROFILE, stored=True)
    return builder.build()


def words_schema() -> tantivy.Schema:
    """Return the fields of the vocabulary: a document has the new words of a commit."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field(NUMBER, indexed=True)
    builder.add_bytes_field(NEW_WORDS, stored=True)
    return builder.build()


def new_words_document(number: int, product_counts: Mapping[str, int]) -> tantivy.Document:
    """Return the document of words, with the products that have them."""
    document = tantivy.Document()
    document.add_integer(NUMBER, number)
    lines = "\n".join(f"{count} {word}" for word, count in product_counts.items())
    document.add_bytes(NEW_WORDS, lines.encode("utf-8", "surrogatepass"))
    return document


def read_new_words(searcher: tantivy.Searcher, first: int) -> dict[str, int]:
    """Return the words of the documents from number `first` on, with their products.

    Raises:
        ValueError: when a document is missing.
    """
    schema, counts = words_schema(), dict[str, int]()
    for number in range(first, searcher.num_docs):
        query = tantivy.Query.term_query(schema, NUMBER, number, index_option="basic")
        hits = searcher.search(query, 1, count=False).hits
        if not hits:
            message = f"the words of commit {number} are missing"
            raise ValueError(message)
        lines = searcher.doc(hits[0][1])[NEW_WORDS][0].decode("utf-8", "surrogatepass")
        for line in lines.split("\n"):
            count, _, word = line.partition(" ")
            counts[word] = int(count)
    return counts


def register_tokenizers(index: tantivy.Index) -> tantivy.Index:
    """Return `index` with the tokenizers of its fields."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(_PLAIN_TOKENIZER, words)
    return index


def exact_key(code: str) -> str:
    """Return an id or sku in comparable form: letters and digits only."""
    key = code.lower()
    return key if key.isalnum() else "".join(filter(str.isalnum, key)) or code.strip()


_SHORTEST_GTIN: Final = 8
_LONGEST_GTIN: Final = 14


def is_gtin_length(key: str) -> bool:
    """Return whether a code may be a GTIN: a number of 8 to 14 digits."""
    return key.isdecimal() and _SHORTEST_GTIN <= len(key) <= _LONGEST_GTIN


def exact_keys_of_code(text: str) -> list[str]:
    """Return the keys that a code may be indexed by, the one as typed first.

    Zeros before a GTIN do not change it: UPC 036000291452 is EAN 0036000291452.
    """
    key = exact_key(text)
    if not is_gtin_length(key):
        return [key] if key else []
    digits = key.lstrip("0")
    lengths = range(max(_SHORTEST_GTIN, len(digits)), _LONGEST_GTIN + 1)
    return list(dict.fromkeys((key, *(digits.zfill(length) for length in lengths))))


class IndexedDocument(NamedTuple):
    """A product document of the index."""

    document: tantivy.Document
    words: list[str]  # in their original spelling


def build_document(product: ProductText, language: LanguageAnalyzer) -> IndexedDocument:
    """Return the document of a product."""
    document = tantivy.Document()
    document.add_integer(NUMBER, product.number)
    title = indexed_words(product.title)
    categories = indexed_words(" . ".join(product.categories))
    description = indexed_words(product.description[:MAX_DESCRIPTION])
    codes = indexed_words(" . ".join(product.codes))
    heads = [
        word
        for head in head_nouns(product.title, language.code)
        for word in indexed_words(head)
    ]
    for key in dict.fromkeys(exact_key(code) for code in product.codes if code):
        document.add_text(EXACT, key)
    stems = (
        language.stems(title),
        language.stems(categories),
        language.stems(description),
        codes,
        language.stems(heads),
    )
    for name, words in zip(FIELDS, stems, strict=True):
        if words:
            document.add_text(name, " ".join(words))
    lead = stems[2]
    if len(product.description) > _LEAD:
        lead = language.stems(indexed_words(product.description[:_LEAD]))
    document.add_bytes(PROFILE, encode_product_stems(stems[0], lead))
    return IndexedDocument(document, title + categories + description + codes)


class BrokenIndexError(ProductRecsError):
    """An index's files are missing, damaged or of another format; rebuild the index."""


@contextlib.contextmanager
def translate_index_errors(operation: str) -> Iterator[None]:
    """Convert the library's errors in the block into one error.

    Raises:
        BrokenIndexError: when the library raised an error or panicked.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        message = f"{operation}: {error}"
        raise BrokenIndexError(message) from error
    except BaseException as error:
        # Library panics are BaseExceptions: they are caught on purpose.
        if type(error).__name__ != "PanicException":
            raise
        message = f"{operation}: the library gave up ({error})"
        raise BrokenIndexError(message) from error
