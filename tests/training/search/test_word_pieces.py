"""Word pieces: the tokens of queries are those of the library `tokenizers`."""

import importlib.util
import json
import sys
import unicodedata
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from productrecs.engines.text import product_word_translations
from productrecs.training.search.packaged_text_model import TOKENIZER
from productrecs.training.search.word_pieces import WordPieceTokenizer

if importlib.util.find_spec(TOKENIZER.module) is None:
    pytest.skip("productrecs[meaning] is not installed", allow_module_level=True)

WORDS = Path(product_word_translations.__file__).with_name("product_words.txt")
LANGUAGES = Path(__file__).parents[2] / "engines" / "text" / "languages.json"
TEXTS = [
    "", " ", "red sofa", "RED Sofa", "16gb-ram's 3.5\" 50% off!", "$5 a+b=c <d> ^`|~",
    "café CRÈME São Ñandú", "Straße ŒUVRE Ǆ ﬁne", "İstanbul ıspanak", "ΟΔΟΣ Σ ςσ άώ",
    "cafe\u0301 a\u0300\u0327\u0301b z\u20ddy", "Ёлка ЙОГУРТ", "कुर्ता साड़ी", "עִבְרִית كِتَاب ﷺ",
    "中文手机壳", "漢字とかなカナ ﾊﾝｶｸ", "가방 각힣", "\u4e00a\U00020000b\uf900", "กางเกง",
    "👍🏽 👨\u200d👩\u200d👧 sofa🇩🇪❤️", "①Ⅳ½ Ａｂ１ 𝒜𝓫𝟙 ™®", "so\u00adfa\u200b \u2060",
    "a\x00b\x07c\x1fd\x7fe\x85f\ufffdg", "a\tb\nc\rd\x0be\x0cf", "\ufeffso",
    "a\u00a0b\u2003c\u2028d\u3000e",
    "[CLS] red[MASK]sofa [UNK][SEP] [PAD", "[cls] [ CLS]", "##s ##", "\ue000private",
    "x" * 100, "x" * 101, "é" * 100, "a\u0301" * 101, "q" * 99 + "中", "sofas " * 80,
    "zzyzxqwv supercalifragilisticexpialidocious", "—–-‘’“”«»…·¿¡§", "\u0378\u2fe0",
]  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(TOKENIZER.find_path()))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@pytest.fixture(scope="module")
def ours() -> WordPieceTokenizer:
    path = TOKENIZER.find_path()
    assert path is not None
    return WordPieceTokenizer(path)


def check(texts: list[str], ours: WordPieceTokenizer, library: Tokenizer) -> None:
    """Check that both give the same ids and tokens."""
    batch = library.encode_batch(texts, add_special_tokens=False)
    for text, expected in zip(texts, batch, strict=True):
        assert ours.ids(text) == expected.ids, ascii(text)
        assert ours.tokens(text) == expected.tokens, ascii(text)


def test_any_text_has_the_tokens_of_the_library(
    ours: WordPieceTokenizer, library: Tokenizer
) -> None:
    check(TEXTS, ours, library)


def test_product_names_in_many_languages_have_the_tokens_of_the_library(
    ours: WordPieceTokenizer, library: Tokenizer
) -> None:
    names = WORDS.read_text("utf-8").replace(",", "|").replace("\n", "|").split("|")
    shops = json.dumps(json.loads(LANGUAGES.read_text("utf-8")), ensure_ascii=False)

    check([*names, *shops.split('"')], ours, library)


def test_each_character_has_the_tokens_of_the_library(
    ours: WordPieceTokenizer, library: Tokenizer
) -> None:
    """Python and the library know other versions of Unicode: compare what is in both."""
    old = unicodedata.ucd_3_2_0.category
    letters = [
        letter
        for letter in map(chr, range(sys.maxunicode + 1))
        if old(letter) == unicodedata.category(letter) not in {"Cn", "Co", "Cs"}
    ]

    words = [f"so{letter}fa" for letter in letters]
    check([" ".join(words[n : n + 64]) for n in range(0, len(words), 64)], ours, library)
