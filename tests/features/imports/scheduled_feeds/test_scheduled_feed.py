"""Scheduled feed: which addresses and headers a merchant may enter."""

from __future__ import annotations

import pytest

from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FeedAddressError,
    file_name_of,
    parse_feed_address,
)

URL = "https://shop.example/feed.xml"


@pytest.mark.parametrize(
    ("text", "header", "expected"),
    [
        (f" {URL} ", "", (URL, "")),
        (f"{URL}?a=1#part", "", (f"{URL}?a=1", "")),
        (URL, " X-Key:  a b ", (URL, "X-Key: a b")),
        (
            "https://me:p%40ss@shop.example:443/f",
            "",
            ("https://shop.example:443/f", "Authorization: Basic bWU6cEBzcw=="),
        ),
        ("http://shop.example/f", "", ("http://shop.example/f", "")),
        (
            "http://me:p@10.0.0.7/f",
            "",
            ("http://10.0.0.7/f", "Authorization: Basic bWU6cA=="),
        ),
    ],
)
def test_a_password_in_the_address_becomes_a_secret_header(
    text: str, header: str, expected: tuple[str, str]
) -> None:
    assert parse_feed_address(text, header, trusted={"10.0.0.7"}) == expected


@pytest.mark.parametrize(
    ("text", "header", "words"),
    [
        ("", "", "Enter a whole address"),
        ("shop.example/feed.xml", "", "Enter a whole address"),
        ("https://[::1/feed", "", "Enter a whole address"),
        ("https://shop.example:port/f", "", "Enter a whole address"),
        ("https://shop.example/a b", "", "Enter a whole address"),
        ("https://shop.example/" + "a" * 2_000, "", "Enter a whole address"),
        ("ftp://shop.example/f", "", "must begin with https://"),
        ("http://me:p@shop.example/f", "", "must begin with https://"),
        ("http://shop.example/f", "X-Key: a", "must begin with https://"),
        (URL, "no colon", "NAME: VALUE"),
        (URL, "X-Key:", "NAME: VALUE"),
        (URL, "X-Key: a\r\nHost: b", "NAME: VALUE"),
        (URL, "X-Key: käse", "NAME: VALUE"),
        (URL, "Host: internal", "set by the service"),
        (URL, "Content-Length: 5", "set by the service"),
        ("https://me:p@shop.example/f", "X-Key: a", "not both"),
    ],
)
def test_what_cannot_be_fetched_safely_is_refused_in_words(
    text: str, header: str, words: str
) -> None:
    with pytest.raises(FeedAddressError, match=words):
        parse_feed_address(text, header)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (URL, "feed.xml"),
        ("https://shop.example/a/products.jsonl.gz?x=1", "products.jsonl.gz"),
        ("https://shop.example/", "shop.example"),
        ("https://shop.example/%00a%0Ab.csv", "ab.csv"),
        ("https://shop.example/" + "a" * 300 + ".csv", "a" * 196 + ".csv"),
    ],
)
def test_the_file_is_named_after_the_end_of_its_address(url: str, name: str) -> None:
    assert file_name_of(url) == name
