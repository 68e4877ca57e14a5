"""Scheduled feed: which addresses and headers a merchant may enter."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FeedSourceError,
    ScheduledFeed,
    file_name_of,
    parse_feed_url_and_header,
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
    assert parse_feed_url_and_header(text, header, trusted={"10.0.0.7"}) == expected


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
        ("http://127.0.0.1/f", "", "in a private network"),
        ("https://10.0.0.7:8443/f", "", "port 8443.* private .*FEED_HOSTS=10.0.0.7:8443"),
        ("http://me:p@10.0.0.7/f", "X-Key: a", "not both.* with https.* private network"),
    ],
)
def test_what_cannot_be_fetched_safely_is_refused_in_words(
    text: str, header: str, words: str
) -> None:
    with pytest.raises(FeedSourceError, match=words):
        parse_feed_url_and_header(text, header)


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


@pytest.mark.parametrize(
    ("every", "hour", "failures", "due"),
    [
        (1440, None, 0, "2026-07-02T14:30"),
        (1440, 6, 0, "2026-07-02T06:00"),
        (1440, 15, 0, "2026-07-01T15:00"),
        (180, 6, 0, "2026-07-01T17:30"),
        (1440, 6, 1, "2026-07-01T15:30"),
        (1440, 6, 2, "2026-07-01T20:30"),
        (1440, 6, 9, "2026-07-01T20:30"),
        (180, None, 2, "2026-07-01T17:30"),
        (60, None, 1, "2026-07-01T15:30"),
    ],
)
def test_a_feed_is_fetched_at_its_hour_and_sooner_after_a_failure(
    every: int, hour: int | None, failures: int, due: str
) -> None:
    zone = ZoneInfo("Europe/Berlin")
    feed = ScheduledFeed(
        URL, "", every, is_complete=False, next_ms=0, failures=failures, hour=hour
    )
    now_ms = int(datetime(2026, 7, 1, 14, 30, tzinfo=zone).timestamp() * 1000)
    found = datetime.fromtimestamp(feed.next_fetch_ms(now_ms, zone) / 1000, zone)
    assert found.strftime("%Y-%m-%dT%H:%M") == due
